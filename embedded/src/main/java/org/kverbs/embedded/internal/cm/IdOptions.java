package org.kverbs.embedded.internal.cm;

import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.RdmaOptionId;

/** What {@code rdma_set_option} sets of an id ({@code RDMA_OPTION_ID_*}). */
final class IdOptions {

    boolean reuses;
    boolean ownFamilyOnly;
    int trafficClass;
    /** 4.096 us * 2^n; below zero for what the addresses suggest. */
    int ackTimeout = -1;

    /** What goes over to the ids of requests to a listener. */
    void inherit(IdOptions from) {
        trafficClass = from.trafficClass;
        ackTimeout = from.ackTimeout;
    }

    /** The timeout of a queue pair, and of what its peer is told. */
    int ackTimeoutOr(int suggested) {
        return ackTimeout < 0 ? suggested : ackTimeout;
    }

    /** Returns 0 or -errno. */
    int set(int name, int value, Id of) {
        if (name == RdmaOptionId.RDMA_OPTION_ID_TOS) {
            trafficClass = value;
        } else if (name == RdmaOptionId.RDMA_OPTION_ID_REUSEADDR && !of.isBound()) {
            reuses = value != 0;
        } else if (name == RdmaOptionId.RDMA_OPTION_ID_AFONLY && !of.isListening()) {
            ownFamilyOnly = value != 0;
        } else if (name == RdmaOptionId.RDMA_OPTION_ID_ACK_TIMEOUT && of.takesConnections() && value <= Timers.MOST) {
            ackTimeout = value;
        } else {
            return name < 0 || name > RdmaOptionId.RDMA_OPTION_ID_ACK_TIMEOUT ? -Errno.ENOSYS : -Errno.EINVAL;
        }
        return 0;
    }
}
