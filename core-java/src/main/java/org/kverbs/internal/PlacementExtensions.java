package org.kverbs.internal;

import org.kverbs.internal.abi.IbvQpEx;
import org.kverbs.internal.abi.IbvSendWr;

/**
 * The numbers of the memory placement extensions (IBA volume 1, annex A19), which are atomic write and flush, and their
 * places in a {@code struct ibv_send_wr}. The headers of rdma-core 44 lack the flush: these numbers are of {@code
 * verbs.h} of rdma-core 45.
 *
 * <p>{@code ibv_post_send} has neither operation, so {@code struct ibv_send_wr} has no fields for them. A request of
 * kverbs has them in the fields of an atomic: {@code remote_addr}, {@code rkey}, and the places below.
 */
public final class PlacementExtensions {

    /** Of {@code enum ibv_wr_opcode}. */
    public static final int IBV_WR_FLUSH = 14;

    /** Of {@code enum ibv_wc_opcode}. */
    public static final int IBV_WC_FLUSH = 8;

    /** Of {@code enum ibv_qp_create_send_ops_flags}. */
    public static final int IBV_QP_EX_WITH_FLUSH = 1 << 11;

    /** The offset of {@code wr_flush} in {@code struct ibv_qp_ex}; moves with pthread_mutex_t. */
    public static final int WR_FLUSH = IbvQpEx.WR_ATOMIC_WRITE + Long.BYTES;

    /** Of {@code enum ibv_access_flags}. */
    public static final int IBV_ACCESS_FLUSH_GLOBAL = 1 << 8;
    /** Of {@code enum ibv_access_flags}. */
    public static final int IBV_ACCESS_FLUSH_PERSISTENT = 1 << 9;

    /** Of {@code enum ibv_placement_type}. */
    public static final int IBV_FLUSH_GLOBAL = 1;
    /** Of {@code enum ibv_placement_type}. */
    public static final int IBV_FLUSH_PERSISTENT = 1 << 1;

    /** Of {@code enum ibv_selectivity_level}. */
    public static final int IBV_FLUSH_RANGE = 0;
    /** Of {@code enum ibv_selectivity_level}. */
    public static final int IBV_FLUSH_MR = 1;

    /** {@code IB_UVERBS_DEVICE_FLUSH_GLOBAL} of {@code device_cap_flags_ex} ({@code ib_user_verbs.h}). */
    public static final long DEVICE_FLUSH_GLOBAL = 1L << 38;
    /** {@code IB_UVERBS_DEVICE_FLUSH_PERSISTENT} of {@code device_cap_flags_ex}. */
    public static final long DEVICE_FLUSH_PERSISTENT = 1L << 39;
    /** {@code IB_UVERBS_DEVICE_ATOMIC_WRITE} of {@code device_cap_flags_ex}. */
    public static final long DEVICE_ATOMIC_WRITE = 1L << 40;

    /** Where a request has the 8 bytes of an atomic write. */
    public static final int VALUE = IbvSendWr.WR_ATOMIC_COMPARE_ADD;
    /** Where a request has the number of bytes to flush, 8 bytes. */
    public static final int LENGTH = IbvSendWr.WR_ATOMIC_COMPARE_ADD;
    /** Where a request has an {@code enum ibv_placement_type}. */
    public static final int TYPE = IbvSendWr.WR_ATOMIC_SWAP;
    /** Where a request has an {@code enum ibv_selectivity_level}. */
    public static final int LEVEL = IbvSendWr.WR_ATOMIC_SWAP + Integer.BYTES;

    private PlacementExtensions() {}
}
