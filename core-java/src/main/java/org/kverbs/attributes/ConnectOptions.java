package org.kverbs.attributes;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.Context;
import org.kverbs.QueuePair;

/**
 * How {@link QueuePair#connect} brings a queue pair up. Make one with {@link #builder()}; the defaults are there.
 *
 * @param port the local port, from 1
 * @param gidIndex index of the local GID, or -1 for {@link Context#defaultGidIndex}
 * @param pkeyIndex index of the partition key
 * @param pathMtu packet size, or null for the smaller of the port's active MTU and the peer's
 * @param serviceLevel 0 to 15
 * @param trafficClass of the GRH; on RoCE v2 the IP header's DSCP and ECN
 * @param flowLabel of the GRH, 20 bits
 * @param hopLimit of the GRH
 * @param timeout code of the acknowledge timeout, 4.096 us * 2^timeout, 0 is never; see {@link QueuePairTimers}
 * @param retryCount how often a lost packet is sent again, 0 to 7
 * @param rnrRetry how often a message is sent again when the peer has no receive posted, 0 to 6; 7 is for ever
 * @param minRnrTimer code of the time a peer must wait when this side has no receive posted; see
 *     {@link QueuePairTimers}
 * @param maxReadAtomic reads and atomics this side keeps in flight, or -1 for what the device can, at most 16
 * @param maxDestReadAtomic reads and atomics of the peer this side serves at once, or -1 for what the device can, at
 *     most 16
 * @param access what the peer may do through this queue pair, or null for all that its type can
 * @param qkey for UD: the key that messages to it must carry
 */
public record ConnectOptions(
        int port,
        int gidIndex,
        int pkeyIndex,
        @Nullable Mtu pathMtu,
        int serviceLevel,
        int trafficClass,
        int flowLabel,
        int hopLimit,
        int timeout,
        int retryCount,
        int rnrRetry,
        int minRnrTimer,
        int maxReadAtomic,
        int maxDestReadAtomic,
        @Nullable Set<AccessFlag> access,
        int qkey) {

    /** The Q_Key of UD queue pairs where none is chosen, the one of rdma-core's examples. */
    public static final int DEFAULT_QKEY = 0x11111111;

    /** The defaults. */
    public static final ConnectOptions DEFAULTS = builder().build();

    /** Makes a builder that holds the defaults. */
    public static ConnectOptionsBuilder builder() {
        return new ConnectOptionsBuilder();
    }
}
