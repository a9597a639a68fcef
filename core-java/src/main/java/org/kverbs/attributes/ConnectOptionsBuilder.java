package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.Context;
import org.kverbs.internal.values.Ranges;

/** Builds {@link ConnectOptions}; each setter's default is named with it. For one thread. */
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

    /** The local port; default 1. */
    public ConnectOptionsBuilder port(int number) {
        port = Ranges.require("port", number, 1, 255);
        return this;
    }

    /** Index of the local GID; default -1, which takes {@link Context#defaultGidIndex}. */
    public ConnectOptionsBuilder gidIndex(int index) {
        gidIndex = Ranges.require("gidIndex", index, -1, 255);
        return this;
    }

    /** Index of the partition key; default 0. */
    public ConnectOptionsBuilder pkeyIndex(int index) {
        pkeyIndex = Ranges.require("pkeyIndex", index, 0, 0xffff);
        return this;
    }

    /** Packet size; default the smaller of the port's active MTU and the peer's. */
    public ConnectOptionsBuilder pathMtu(Mtu mtu) {
        pathMtu = mtu;
        return this;
    }

    /** Service level, 0 to 15; default 0. */
    public ConnectOptionsBuilder serviceLevel(int level) {
        serviceLevel = Ranges.require("serviceLevel", level, 0, 15);
        return this;
    }

    /** Traffic class, 8 bits; default 0. */
    public ConnectOptionsBuilder trafficClass(int value) {
        trafficClass = Ranges.require("trafficClass", value, 0, 255);
        return this;
    }

    /** Flow label, 20 bits; default 0. */
    public ConnectOptionsBuilder flowLabel(int value) {
        flowLabel = Ranges.require("flowLabel", value, 0, 0xfffff);
        return this;
    }

    /** Hop limit; default 64. */
    public ConnectOptionsBuilder hopLimit(int value) {
        hopLimit = Ranges.require("hopLimit", value, 0, 255);
        return this;
    }

    /** Code of the acknowledge timeout; default 14, which is 67 ms. */
    public ConnectOptionsBuilder timeout(int code) {
        timeout = Ranges.require("timeout", code, 0, 31);
        return this;
    }

    /** How often a lost packet is sent again; default 7. */
    public ConnectOptionsBuilder retryCount(int count) {
        retryCount = Ranges.require("retryCount", count, 0, 7);
        return this;
    }

    /** How often a message is sent again when the peer has no receive posted; default 7, for ever. */
    public ConnectOptionsBuilder rnrRetry(int count) {
        rnrRetry = Ranges.require("rnrRetry", count, 0, 7);
        return this;
    }

    /** Code of the time a peer waits when this side has no receive posted; default 12, which is 0.64 ms. */
    public ConnectOptionsBuilder minRnrTimer(int code) {
        minRnrTimer = Ranges.require("minRnrTimer", code, 0, 31);
        return this;
    }

    /** Reads and atomics in flight; default what the device can, at most 16. */
    public ConnectOptionsBuilder maxReadAtomic(int count) {
        maxReadAtomic = Ranges.require("maxReadAtomic", count, 0, 255);
        return this;
    }

    /** Reads and atomics of the peer that are served at once; default what the device can, at most 16. */
    public ConnectOptionsBuilder maxDestReadAtomic(int count) {
        maxDestReadAtomic = Ranges.require("maxDestReadAtomic", count, 0, 255);
        return this;
    }

    /** What the peer may do; default all that the type can: REMOTE_WRITE, and on RC REMOTE_READ and REMOTE_ATOMIC. */
    public ConnectOptionsBuilder access(Collection<AccessFlag> flags) {
        access = flags.isEmpty() ? Set.of() : EnumSet.copyOf(flags);
        return this;
    }

    /** The Q_Key of a UD queue pair; default {@link ConnectOptions#DEFAULT_QKEY}. */
    public ConnectOptionsBuilder qkey(int key) {
        qkey = key;
        return this;
    }

    /** The options as they stand now. */
    public ConnectOptions build() {
        return new ConnectOptions(
                port, gidIndex, pkeyIndex, pathMtu, serviceLevel, trafficClass, flowLabel, hopLimit, timeout,
                retryCount,
                rnrRetry, minRnrTimer, maxReadAtomic, maxDestReadAtomic, access, qkey);
    }
}
