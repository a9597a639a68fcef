package org.kverbs.embedded;

/** Lists the calls of an embedded device that a {@link Failure} can refuse, each with its C function. */
public enum Operation {
    /** {@code ibv_open_device}. */
    OPEN_DEVICE,
    /** {@code ibv_query_device} and {@code ibv_query_device_ex}. */
    QUERY_DEVICE,
    /** {@code ibv_query_port} and {@code ibv_query_port_speed}. */
    QUERY_PORT,
    /** {@code ibv_query_rt_values_ex}. */
    QUERY_CLOCK,
    /** {@code ibv_alloc_pd}. */
    ALLOCATE_PROTECTION_DOMAIN,
    /** {@code ibv_alloc_td}. */
    ALLOCATE_THREAD_DOMAIN,
    /** {@code ibv_alloc_parent_domain}. */
    ALLOCATE_PARENT_DOMAIN,
    /** {@code ibv_reg_mr}. */
    REGISTER_MEMORY,
    /** {@code ibv_rereg_mr}. */
    REREGISTER_MEMORY,
    /** {@code ibv_dereg_mr}. */
    DEREGISTER_MEMORY,
    /** {@code ibv_alloc_null_mr}. */
    ALLOCATE_NULL_REGION,
    /** {@code ibv_alloc_dm}. */
    ALLOCATE_DEVICE_MEMORY,
    /** {@code ibv_memcpy_to_dm} and {@code ibv_memcpy_from_dm}. */
    COPY_DEVICE_MEMORY,
    /** {@code ibv_reg_dm_mr}. */
    REGISTER_DEVICE_MEMORY,
    /** {@code ibv_free_dm}. */
    FREE_DEVICE_MEMORY,
    /** {@code ibv_advise_mr}. */
    ADVISE_MEMORY,
    /** {@code ibv_alloc_mw}. */
    ALLOCATE_MEMORY_WINDOW,
    /** {@code ibv_bind_mw}, which binds windows of type 1. */
    BIND_MEMORY_WINDOW,
    /** {@code ibv_import_pd}. */
    IMPORT_PROTECTION_DOMAIN,
    /** {@code ibv_import_mr}. */
    IMPORT_MEMORY,
    /** {@code ibv_import_dm}. */
    IMPORT_DEVICE_MEMORY,
    /** {@code ibv_create_comp_channel}. */
    CREATE_COMPLETION_CHANNEL,
    /** {@code ibv_create_cq} and {@code ibv_create_cq_ex}. */
    CREATE_COMPLETION_QUEUE,
    /** {@code ibv_resize_cq}. */
    RESIZE_COMPLETION_QUEUE,
    /** {@code ibv_modify_cq}. */
    MODIFY_COMPLETION_QUEUE,
    /** {@code ibv_destroy_cq}. */
    DESTROY_COMPLETION_QUEUE,
    /** {@code ibv_poll_cq}. The C function reports no errno, so the exception has EIO whatever errno was injected. */
    POLL,
    /** {@code ibv_req_notify_cq}. */
    REQUEST_NOTIFICATION,
    /** {@code ibv_open_xrcd}. */
    OPEN_XRC_DOMAIN,
    /** {@code ibv_close_xrcd}. */
    CLOSE_XRC_DOMAIN,
    /** {@code ibv_create_srq} and {@code ibv_create_srq_ex}. */
    CREATE_SHARED_RECEIVE_QUEUE,
    /** {@code ibv_post_srq_ops}, of a list of any length: the first operation of the list is refused. */
    POST_TAG_OPERATIONS,
    /** {@code ibv_modify_srq}. */
    MODIFY_SHARED_RECEIVE_QUEUE,
    /** {@code ibv_destroy_srq}. */
    DESTROY_SHARED_RECEIVE_QUEUE,
    /** {@code ibv_create_qp} and {@code ibv_create_qp_ex}. */
    CREATE_QUEUE_PAIR,
    /** {@code ibv_open_qp}. */
    OPEN_QUEUE_PAIR,
    /** {@code ibv_modify_qp}. */
    MODIFY_QUEUE_PAIR,
    /** {@code ibv_modify_qp_rate_limit}. */
    MODIFY_RATE_LIMIT,
    /** {@code ibv_query_qp}. */
    QUERY_QUEUE_PAIR,
    /** {@code ibv_destroy_qp}. */
    DESTROY_QUEUE_PAIR,
    /** {@code ibv_post_send}, of a list of any length: the first request of the list is refused. */
    POST_SEND,
    /**
     * {@code ibv_post_recv}, {@code ibv_post_srq_recv} and {@code ibv_post_wq_recv}, of a list of any length: the first
     * request of the list is refused.
     */
    POST_RECEIVE,
    /** {@code ibv_create_ah}. */
    CREATE_ADDRESS_HANDLE,
    /** {@code ibv_attach_mcast}. */
    ATTACH_MULTICAST,
    /** {@code ibv_create_flow}. */
    CREATE_FLOW,
    /** {@code ibv_destroy_flow}. */
    DESTROY_FLOW,
    /** {@code ibv_create_flow_action_esp}. */
    CREATE_FLOW_ACTION,
    /** {@code ibv_modify_flow_action_esp}. */
    MODIFY_FLOW_ACTION,
    /** {@code ibv_destroy_flow_action}. */
    DESTROY_FLOW_ACTION,
    /** {@code ibv_create_counters}. */
    CREATE_COUNTERS,
    /** {@code ibv_attach_counters_point_flow}. */
    ATTACH_COUNTERS,
    /** {@code ibv_read_counters}. */
    READ_COUNTERS,
    /** {@code ibv_destroy_counters}. */
    DESTROY_COUNTERS,
    /** {@code ibv_create_wq}. */
    CREATE_WORK_QUEUE,
    /** {@code ibv_modify_wq}. */
    MODIFY_WORK_QUEUE,
    /** {@code ibv_destroy_wq}. */
    DESTROY_WORK_QUEUE,
    /** {@code ibv_create_rwq_ind_table}. */
    CREATE_INDIRECTION_TABLE,
    /** {@code ibv_destroy_rwq_ind_table}. */
    DESTROY_INDIRECTION_TABLE,
    /** {@code ibv_create_comp_cntr}. */
    CREATE_COMPLETION_COUNTER,
    /** {@code ibv_qp_attach_comp_cntr}. */
    ATTACH_COMPLETION_COUNTER,
    /** {@code ibv_destroy_comp_cntr}. */
    DESTROY_COMPLETION_COUNTER
}
