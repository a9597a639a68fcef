package org.kverbs.attributes;

/**
 * A part of the verbs that not every device has. {@code Context.supports} tells whether a device has it. The calls of a
 * part that is missing throw {@code UnsupportedVerbException}, with the text of {@link #needs}.
 */
public enum Feature {
    /** Completion events that wait for several completions ({@code ibv_modify_cq}). */
    COMPLETION_MODERATION(
            "ibv_modify_cq",
            "Devices of the drivers mlx4 and mlx5 have it since Linux 4.15, those of hns with rdma-core 20 or newer, "
                    + "and so has the embedded device: DeviceAttributesEx.cqModeration shows the limits."),
    /**
     * Timestamps of completions ({@code ibv_wc_read_completion_ts}); a completion queue is made with {@link
     * CompletionField#TIMESTAMP}.
     */
    COMPLETION_TIMESTAMPS("ibv_create_cq_ex", CompletionField.TIMESTAMP.needs()),
    /** Reading the device's clock ({@code ibv_query_rt_values_ex}). */
    DEVICE_CLOCK(
            "ibv_query_rt_values_ex",
            "Devices of the drivers mlx4 and mlx5 have it, and so has the embedded device."),
    /** Objects that one thread at a time uses ({@code ibv_alloc_td}). */
    THREAD_DOMAIN(
            "ibv_alloc_td",
            "Devices of the drivers efa, hns, ionic and mlx5 have it, and so has the embedded device."),
    /** Protection domains that make objects in a thread domain ({@code ibv_alloc_parent_domain}). */
    PARENT_DOMAIN(
            "ibv_alloc_parent_domain",
            "Devices of the drivers efa, hns, ionic, mana and mlx5 have it, and so has the embedded device."),
    /**
     * Parent domains whose queues get their memory from the program ({@code ibv_alloc_parent_domain} with
     * IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS). libibverbs does not tell which drivers ask the program, so that {@code
     * Context.supports} tells of a device of libibverbs only whether it has parent domains.
     */
    DOMAIN_ALLOCATOR(
            "ibv_alloc_parent_domain",
            "Devices of the driver mlx5 ask an allocator with rdma-core 27 and newer, those of ionic with 61. The "
                    + "embedded device does not: its queues are objects of Java. Leave the allocator out."),
    /**
     * The vendor's options of queue pairs ({@code ibv_query_ece}, {@code ibv_set_ece}). libibverbs does not tell
     * whether a driver has them, so that {@code Context.supports} tells only whether the library has the calls.
     */
    ECE("ibv_set_ece", "Devices of the driver mlx5 have it, with rdma-core 31 or newer."),
    /** A limit for the rate at which a queue pair sends ({@code ibv_modify_qp_rate_limit}). */
    RATE_LIMIT(
            "ibv_modify_qp_rate_limit",
            "Devices of the driver mlx5 have it, those of bnxt_re with rdma-core 63 or newer, and so has the embedded "
                    + "device: DeviceAttributesEx.packetPacing shows the limits."),
    /** The effective speed of a port ({@code ibv_query_port_speed}). */
    PORT_SPEED(
            "ibv_query_port_speed",
            "Devices of the drivers efa and mlx5 have it, with rdma-core 62 or newer, and so has the embedded device."),
    /** A region without memory ({@code ibv_alloc_null_mr}). */
    NULL_REGION(
            "ibv_alloc_null_mr",
            "Devices of the driver mlx5 have it with rdma-core 20 and newer, and so has the embedded device."),
    /** Memory of the device itself ({@code ibv_alloc_dm}). */
    DEVICE_MEMORY(
            "ibv_alloc_dm",
            "Devices of the driver mlx5 have it with rdma-core 18 and newer, those of mana with 62 but without "
                    + "copies by the program, and so has the embedded device: DeviceAttributesEx.maxDmSize shows how "
                    + "much."),
    /**
     * Regions whose pages are not pinned ({@code ibv_reg_mr} with {@code IBV_ACCESS_ON_DEMAND}). {@code
     * DeviceAttributesEx.onDemandPaging} tells whether a device has it, for which operations, and whether a region can
     * be implicit.
     */
    ON_DEMAND_PAGING(
            "ibv_reg_mr",
            "Devices of the driver mlx5 page on demand, and so does the embedded device: "
                    + "DeviceAttributesEx.onDemandPaging shows the operations, and whether a region can be implicit. "
                    + "Without AccessFlag.ON_DEMAND the region's pages are pinned, which every device can do."),
    /** Advice on regions whose pages are not pinned ({@code ibv_advise_mr}). */
    MEMORY_ADVICE(
            "ibv_advise_mr",
            "Devices of the driver mlx5 have it with rdma-core 22 and newer, those of rxe with 59, and so has the "
                    + "embedded device. A program is correct without it: the device then pages at the first access."),
    /**
     * Regions of dma-bufs ({@code ibv_reg_dmabuf_mr}). The embedded device has none: only a native call maps
     * a dma-buf, and the embedded device makes none.
     */
    DMABUF(
            "ibv_reg_dmabuf_mr",
            "Devices of the driver mlx5 have it with rdma-core 34 and newer, those of efa with 38, irdma 45, bnxt_re "
                    + "48, mana 57 and ionic 61. The embedded device has none."),
    /**
     * Contexts, protection domains, regions and device memory that several processes share ({@code ibv_import_device},
     * {@code ibv_import_pd}).
     */
    IMPORT(
            "ibv_import_pd",
            "Devices of the driver mlx5 have it with rdma-core 31 and newer, device memory with 35, and so has the "
                    + "embedded device within this process."),
    /** Extended reliable connections ({@code ibv_open_xrcd}). */
    XRC(
            "ibv_open_xrcd",
            "Devices of the drivers mlx4 and mlx5 have XRC, qedr since rdma-core 32 but without ibv_open_qp, hns since "
                    + "rdma-core 36, and so has the embedded device: DeviceCapability.XRC shows it."),
    /**
     * Shared receive queues that give a message to the buffer of its tag ({@code ibv_post_srq_ops}). {@code
     * DeviceAttributesEx.tagMatching} shows the limits.
     */
    TAG_MATCHING(
            "ibv_post_srq_ops",
            "Devices of the driver mlx5 have it with rdma-core 16 and newer, and so has the embedded device, which "
                    + "gives a rendezvous to the program: DeviceAttributesEx.tagMatching shows the limits."),
    /** Counters of completions ({@code ibv_create_comp_cntr}). */
    COMPLETION_COUNTERS(
            "ibv_create_comp_cntr",
            "Devices of the driver efa have it with rdma-core 65 and newer, and so has the embedded device: "
                    + "Context.queryCompletionCounters shows the limits."),
    /**
     * Queue pairs that move to an alternate path by themselves ({@code ibv_modify_qp} with {@code IBV_QP_ALT_PATH}).
     * {@code DeviceCapability.AUTO_PATH_MIG} and {@code PortCapability.AUTO_MIGR_SUP} show it.
     */
    PATH_MIGRATION(
            "ibv_modify_qp",
            "InfiniBand ports whose PortCapability has AUTO_MIGR_SUP have alternate paths, and so has the embedded "
                    + "device with strict semantics. Linux refuses alternate paths on RoCE, and Soft-RoCE and iWARP "
                    + "have none."),
    /** Atomic writes of 8 bytes ({@code ibv_wr_atomic_write}), on a queue pair that was made for them. */
    ATOMIC_WRITE(
            "ibv_wr_atomic_write",
            "It needs rdma-core 44 or newer, and a device with DeviceCapability.ATOMIC_WRITE: Soft-RoCE of Linux 6.2 "
                    + "or newer on a 64-bit processor, or the embedded device."),
    /** The flush of writes in a peer's memory ({@code ibv_wr_flush}), on a queue pair that was made for it. */
    FLUSH(
            "ibv_wr_flush",
            "It needs rdma-core 45 or newer, and a device with DeviceCapability.FLUSH_GLOBAL or FLUSH_PERSISTENT: "
                    + "Soft-RoCE of Linux 6.2 or newer, or the embedded device."),
    /**
     * Sends that the device cuts into TCP segments ({@code ibv_wr_send_tso}, IBV_WR_TSO of {@code ibv_post_send}), on a
     * queue pair with {@code QueuePairInitAttributes.maxTsoHeader}. {@code DeviceAttributesEx.segmentation} shows the
     * longest payload, and the types of queue pairs. A device of the driver mlx4 shows a limit too, but its driver has
     * no such request.
     */
    SEGMENTATION(
            "ibv_wr_send_tso",
            "Devices of the driver mlx5 have it, by the extended calls with rdma-core 24 and newer, and so has the "
                    + "embedded device: DeviceAttributesEx.segmentation shows the limits."),
    /**
     * Queue pairs of type {@link QueuePairType#RAW_PACKET}, which send and receive Ethernet frames. No function of a
     * driver shows this feature, so a device counts as having it if it has flow rules: without one a raw packet queue
     * pair receives nothing. The driver mana has such queue pairs without rules, for receive-side scaling.
     */
    RAW_PACKET(
            "ibv_create_qp",
            "Devices of the drivers mlx4, mlx5, bnxt_re and mana have raw packet queue pairs, and so have the embedded "
                    + "devices in this process; an embedded device on UDP sockets has none."),
    /** Rules that choose the queue pair of a received frame ({@code ibv_create_flow}). */
    FLOW_STEERING(
            "ibv_create_flow",
            "Devices of the drivers mlx4, mlx5 and, since rdma-core 60, bnxt_re have it, and so have the embedded "
                    + "devices in this process; an embedded device on UDP sockets has none."),
    /** Counters of flow rules ({@code ibv_create_counters}). */
    FLOW_COUNTERS(
            "ibv_create_counters",
            "Devices of the driver mlx5 have it since rdma-core 19, and so have the embedded devices in this process; "
                    + "an embedded device on UDP sockets has none."),
    /**
     * Actions of flow rules that decrypt and encrypt packets of IPsec ({@code ibv_create_flow_action_esp}). A device
     * has some of them: the embedded device decrypts by full offload, in transport mode.
     */
    ESP_FLOW_ACTION(
            "ibv_create_flow_action_esp",
            "The driver mlx5 has the call with rdma-core 18 and newer; the device and the kernel decide. The embedded "
                    + "devices in this process decrypt by full offload, in transport mode; an embedded device on UDP "
                    + "sockets has none."),
    /**
     * Work queues, and queue pairs that spread what they receive over those of a table by a hash ({@code
     * ibv_create_wq}). {@code DeviceAttributesEx.receiveSideScaling} shows the hashes.
     */
    WORK_QUEUES(
            "ibv_create_wq",
            "Devices of the driver mlx5 have it, those of mlx4 with rdma-core 15 and newer, those of mana with 44, and "
                    + "so have the embedded devices in this process; an embedded device on UDP sockets has none.");

    private final String verb;
    private final String needs;

    Feature(String verb, String needs) {
        this.verb = verb;
        this.needs = needs;
    }

    /** Returns the C function that a device with this feature has. */
    public String verb() {
        return verb;
    }

    /** Returns whole sentences that say which devices and which release of rdma-core have it. */
    public String needs() {
        return needs;
    }
}
