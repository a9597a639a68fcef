package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.Context;
import org.kverbs.internal.values.Ranges;

/**
 * Builds {@link ConnectOptions}. Each setter documents its default and throws {@link IllegalArgumentException} for a
 * value that is out of range. For one thread at a time.
 */
public final class ConnectOptionsBuilder {

    private int port = 1;
    private int gidIndex = -1;
    private int pkeyIndex;
    private @Nullable Mtu pathMtu;
    private int serviceLevel;
    private int trafficClass;
    private int flowLabel;
    private int hopLimit = 64;
    private int timeout = 14;
    private int retryCount = 7;
    private int rnrRetry = 7;
    private int minRnrTimer = 12;
    private int maxReadAtomic = -1;
    private int maxDestReadAtomic = -1;
    private @Nullable Set<AccessFlag> access;
    private int qkey = ConnectOptions.DEFAULT_QKEY;

    ConnectOptionsBuilder() {}

    /** Sets the local port, 1 to 255. Default: 1. */
    public ConnectOptionsBuilder port(int number) {
        port = Ranges.require("port", number, 1, 255);
        return this;
    }

    /** Sets the index of the local GID, 0 to 255. Default: -1, which takes {@link Context#defaultGidIndex}. */
    public ConnectOptionsBuilder gidIndex(int index) {
        gidIndex = Ranges.require("gidIndex", index, -1, 255);
        return this;
    }

    /** Sets the index of the partition key, 0 to 65535. Default: 0. */
    public ConnectOptionsBuilder pkeyIndex(int index) {
        pkeyIndex = Ranges.require("pkeyIndex", index, 0, 0xffff);
        return this;
    }

    /** Sets the packet size. Default: the smaller of the port's active MTU and the peer's. */
    public ConnectOptionsBuilder pathMtu(Mtu mtu) {
        pathMtu = mtu;
        return this;
    }

    /** Sets the service level, 0 to 15. Default: 0. */
    public ConnectOptionsBuilder serviceLevel(int level) {
        serviceLevel = Ranges.require("serviceLevel", level, 0, 15);
        return this;
    }

    /** Sets the traffic class, 8 bits. Default: 0. */
    public ConnectOptionsBuilder trafficClass(int value) {
        trafficClass = Ranges.require("trafficClass", value, 0, 255);
        return this;
    }

    /** Sets the flow label, 20 bits. Default: 0. */
    public ConnectOptionsBuilder flowLabel(int value) {
        flowLabel = Ranges.require("flowLabel", value, 0, 0xfffff);
        return this;
    }

    /** Sets the hop limit, 0 to 255. Default: 64. */
    public ConnectOptionsBuilder hopLimit(int value) {
        hopLimit = Ranges.require("hopLimit", value, 0, 255);
        return this;
    }

    /** Sets the code of the acknowledge timeout, 0 to 31. Default: 14, which is 67 ms. */
    public ConnectOptionsBuilder timeout(int code) {
        timeout = Ranges.require("timeout", code, 0, 31);
        return this;
    }

    /** Sets how often a lost packet is sent again, 0 to 7. Default: 7. */
    public ConnectOptionsBuilder retryCount(int count) {
        retryCount = Ranges.require("retryCount", count, 0, 7);
        return this;
    }

    /**
     * Sets how often a message is sent again when the peer has no receive posted, 0 to 6; 7 for no limit. Default: 7.
     */
    public ConnectOptionsBuilder rnrRetry(int count) {
        rnrRetry = Ranges.require("rnrRetry", count, 0, 7);
        return this;
    }

    /**
     * Sets the code of the time that a peer waits when this side has no receive posted, 0 to 31. Default: 12, which is
     * 0.64 ms.
     */
    public ConnectOptionsBuilder minRnrTimer(int code) {
        minRnrTimer = Ranges.require("minRnrTimer", code, 0, 31);
        return this;
    }

    /**
     * Sets how many reads and atomics this side keeps in flight. Default: the maximum of the device, but at most 16.
     */
    public ConnectOptionsBuilder maxReadAtomic(int count) {
        maxReadAtomic = Ranges.require("maxReadAtomic", count, 0, 255);
        return this;
    }

    /**
     * Sets how many reads and atomics of the peer this side serves at once. Default: the maximum of the device, but at
     * most 16.
     */
    public ConnectOptionsBuilder maxDestReadAtomic(int count) {
        maxDestReadAtomic = Ranges.require("maxDestReadAtomic", count, 0, 255);
        return this;
    }

    /**
     * Sets the operations that the peer may use. Default: REMOTE_WRITE, and on RC also REMOTE_READ and REMOTE_ATOMIC.
     */
    public ConnectOptionsBuilder access(Collection<AccessFlag> flags) {
        access = flags.isEmpty() ? Set.of() : EnumSet.copyOf(flags);
        return this;
    }

    /** Sets the Q_Key of a UD queue pair. Default: {@link ConnectOptions#DEFAULT_QKEY}. */
    public ConnectOptionsBuilder qkey(int key) {
        qkey = key;
        return this;
    }

    /** Returns the options. The builder can be used again. */
    public ConnectOptions build() {
        return new ConnectOptions(
                port, gidIndex, pkeyIndex, pathMtu, serviceLevel, trafficClass, flowLabel, hopLimit, timeout,
                retryCount,
                rnrRetry, minRnrTimer, maxReadAtomic, maxDestReadAtomic, access, qkey);
    }
}
