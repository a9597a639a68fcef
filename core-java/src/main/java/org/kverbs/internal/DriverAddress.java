package org.kverbs.internal;

import org.kverbs.internal.abi.IbvSendWr;

/**
 * Where a {@code struct ibv_send_wr} carries the destination of a request on a queue pair of a driver's own type.
 * verbs.h has no place for it beside the address of an RDMA operation, so kverbs keeps it where only a bind of a memory
 * window has something else.
 */
public final class DriverAddress {
    private DriverAddress() {}

    /** {@code struct ibv_ah *}. */
    public static final int AH = IbvSendWr.BIND_MW_MW;
    /** The number of the receiver, 32 bits. */
    public static final int NUMBER = IbvSendWr.BIND_MW_RKEY;
    /** The key of the receiver, 64 bits. */
    public static final int KEY = IbvSendWr.BIND_MW_BIND_INFO_ADDR;
}
