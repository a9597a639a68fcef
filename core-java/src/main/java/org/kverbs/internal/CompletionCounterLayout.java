package org.kverbs.internal;

/**
 * The C structures of completion counters. The headers of rdma-core 44 lack them: these offsets and numbers are of
 * {@code verbs.h} of rdma-core 65.
 */
public final class CompletionCounterLayout {

    /** The size of {@code struct ibv_comp_cntr}: a context pointer and a handle. */
    public static final int SIZE = 16;
    /** The offset of the handle. */
    public static final int HANDLE = 8;

    /** The size of {@code struct ibv_comp_cntr_init_attr}. */
    public static final int INIT_SIZE = 12;
    /** {@code uint32_t comp_mask}. */
    public static final int INIT_COMP_MASK = 0;
    /** {@code enum ibv_comp_cntr_type type}. */
    public static final int INIT_TYPE = 4;
    /** {@code uint32_t flags}. */
    public static final int INIT_FLAGS = 8;

    /** Of {@code enum ibv_comp_cntr_type}. */
    public static final int IBV_COMP_CNTR_TYPE_WRS = 0;
    /** Of {@code enum ibv_comp_cntr_type}. */
    public static final int IBV_COMP_CNTR_TYPE_BYTES = 1;

    /** The size of {@code struct ibv_comp_cntr_caps}. */
    public static final int CAPS_SIZE = 16;
    /** {@code uint64_t max_value}. */
    public static final int CAPS_MAX_VALUE = 0;
    /** {@code uint32_t max_counters}. */
    public static final int CAPS_MAX_COUNTERS = 8;
    /** {@code uint32_t supported_qp_attach_ops}. */
    public static final int CAPS_OPERATIONS = 12;

    /** The size of {@code struct ibv_qp_attach_comp_cntr_attr}. */
    public static final int ATTACH_SIZE = 8;
    /** {@code uint32_t comp_mask}. */
    public static final int ATTACH_COMP_MASK = 0;
    /** {@code uint32_t op_mask}: bits of {@code enum ibv_qp_attach_comp_cntr_op}. */
    public static final int ATTACH_OPERATIONS = 4;

    private CompletionCounterLayout() {}
}
