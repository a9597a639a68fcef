package org.kverbs.embedded.internal.cm;

import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.RdmaOptionId;

/** Holds the options that {@code rdma_set_option} sets for an id ({@code RDMA_OPTION_ID_*}). */
final class IdOptions {

    boolean reuses;
    boolean ownFamilyOnly;
    int trafficClass;
    /** The timeout as 4.096 us * 2^n; below zero for the default. */
    int ackTimeout = -1;

    /** Copies the options that the ids of requests inherit from their listener. */
    void inherit(IdOptions from) {
        trafficClass = from.trafficClass;
        ackTimeout = from.ackTimeout;
    }

    /** Returns the timeout for the queue pair and for the request to the peer. */
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
