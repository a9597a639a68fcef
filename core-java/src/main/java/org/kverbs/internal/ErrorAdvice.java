package org.kverbs.internal;

import static org.kverbs.internal.abi.Errno.*;

/** Says what to do about an errno of a C function. Texts are whole sentences, or empty if nothing is known. */
public final class ErrorAdvice {
    private ErrorAdvice() {}

    /**
     * Returns advice on a call that failed: the device's own reason if it gave one, otherwise the advice on the errno.
     */
    public static String on(String operation, int errno) {
        String reason = Refusal.take(errno);
        return reason == null ? ofCall(operation, errno) : reason;
    }

    /** Returns the advice on the errno of a call; {@code operation} can have arguments in parentheses. */
    public static String ofCall(String operation, int errno) {
        return call(function(operation), errno);
    }

    /** Returns the advice on the errno of a refused work request. */
    public static String ofPost(String operation, int errno) {
        return post(function(operation), errno);
    }

    private static String function(String operation) {
        int arguments = operation.indexOf('(');
        return arguments < 0 ? operation : operation.substring(0, arguments);
    }

    /** Returns advice on a call that failed. */
    private static String call(String function, int errno) {
        if (function.equals("ibv_poll_cq")) {
            return "The completion queue overran or broke, and its completions are lost: make it and its queue pairs "
                    + "anew, with as many entries as requests can be outstanding on all of them.";
        }
        if (function.startsWith("umad_")) {
            return ManagementAdvice.call(function, errno);
        }
        String ofConnections = function.startsWith("rdma_") ? ConnectionAdvice.call(function, errno) : null;
        if (ofConnections != null) {
            return ofConnections;
        }
        String ofXrc = XrcAdvice.call(function, errno);
        if (ofXrc != null) {
            return ofXrc;
        }
        return switch (errno) {
            case ENOMEM -> pinsMemory(function) ? MemlockLimit.current().advice()
                    : "The machine or the device is short of memory or of objects: ask for less, or free what is not "
                    + "needed.";
            case EPERM, EACCES -> pinsMemory(function) && MemlockLimit.current().isZero()
                    ? MemlockLimit.current().advice()
                    : permission(function);
            case ENOSYS, EOPNOTSUPP -> function.equals("ibv_get_device_list")
                    ? "The kernel has no RDMA support loaded: `modprobe ib_uverbs`, and the driver of your adapter."
                    : function.equals("ibv_create_flow")
                    ? "The device has flow rules, but none of this kind: leave out a match, dontTrap, drop or the "
                            + "counters."
                    : "The device or its driver does not offer this call: `ibv_devinfo -v` shows what it can do.";
            case EPROTONOSUPPORT -> function.startsWith("ibv_")
                    ? "This kernel does not know the call: a newer one does, if the driver of the device has it."
                    : "";
            case EBUSY -> busy(function);
            case ENODEV, ENXIO, ENOENT, EIO -> function.startsWith("ibv_import_") && errno == ENOENT
                    ? "No object has this number among those of the imported context: its exporter has closed it, or"
                            + " the number belongs to another context."
                    : function.equals("ibv_open_device") ? nodes()
                    : looksUp(function) && errno == ENOENT ? invalid(function)
                    : "The device, or an object on it, went away: it was unplugged, reset, or its driver"
                    + " unloaded, as `rdma link` and `dmesg` show. Close what was made from it and open it again.";
            case EINVAL -> invalid(function);
            case EFAULT -> function.startsWith("ibv_reg_") || function.startsWith("ibv_rereg_")
                    ? "Part of the address range is not mapped, or is not writable while the access asks for writing:"
                            + " check address and length, and that the memory is not mapped read-only."
                    : "An address given to the kernel is not mapped: suspect a buffer that was already freed.";
            case EMFILE, ENFILE -> "No file descriptor is left: close devices and channels that are not needed,"
                    + " or raise the limit (`ulimit -n`, LimitNOFILE in a systemd unit).";
            case EAGAIN -> function.contains("event") ? "Nothing is waiting, and the descriptor does not block."
                    : "A limit of the rdma control group is reached (rdma.max and rdma.current in /sys/fs/cgroup), or "
                            + "the device is short of resources for now.";
            case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH -> "The peer's address could not be resolved: check its GID, "
                    + "that the local GID index is of the same kind (RoCE v1, v2, IPv4 or IPv6), and that the peer "
                    + "answers `ping`.";
            case EADDRINUSE -> function.equals("ibv_open_device")
                    ? "UDP port 4791 of the embedded device's address is taken: by another process, or by the "
                            + "kernel's Soft-RoCE. Take another address (`KVERBS_EMBEDDED=udp:ADDRESS`)."
                    : "";
            case EADDRNOTAVAIL -> function.equals("ibv_open_device")
                    ? "The embedded device's address is not this machine's: `ip address` lists those it has."
                    : "";
            case ENODATA -> "The entry of the GID table is empty: `rdma link` and `ibv_devinfo -v` list the ones in "
                    + "use.";
            default -> "";
        };
    }

    private static boolean pinsMemory(String function) {
        return function.startsWith("ibv_reg_") || function.startsWith("ibv_rereg_")
                || function.startsWith("ibv_resize_")
                || function.startsWith("ibv_create_cq") || function.startsWith("ibv_create_qp")
                || function.startsWith("ibv_create_srq") || function.equals("ibv_create_wq")
                || function.equals("ibv_modify_srq");
    }

    /** Returns whether the function reads a table of a port. Then ENOENT stands for a missing entry. */
    private static boolean looksUp(String function) {
        return function.contains("_gid") || function.contains("_pkey");
    }

    private static String nodes() {
        return "Each device needs its node /dev/infiniband/uverbsN, open to this user and passed through to the "
                + "container, if it is in one (`docker run --device=/dev/infiniband/uverbs0`). "
                + DeviceNodes.describe()
                + " rdma-core's udev rules make them rw-rw-rw-.";
    }

    private static String permission(String function) {
        return switch (function) {
            case "ibv_open_device", "ibv_get_device_list" -> nodes();
            case "ibv_create_qp", "ibv_create_qp_ex", "ibv_create_flow" -> "Raw packet queue pairs and flow rules need "
                    + "the capability CAP_NET_RAW (root, or `setcap cap_net_raw+ep` on the java program).";
            case "ibv_modify_qp" -> "A Q_Key with its highest bit set needs the capability CAP_NET_RAW; use a smaller "
                    + "Q_Key.";
            default -> "This user lacks a right that the call needs: try as root, or look for the capability in the "
                    + "man page.";
        };
    }

    private static String busy(String function) {
        return switch (function) {
            case "ibv_dealloc_pd" -> "The protection domain is still in use by queue pairs, shared receive queues, "
                    + "memory regions, memory windows or address handles: close those first.";
            case "ibv_destroy_cq" -> "The completion queue is still in use by queue pairs, work queues, or shared "
                    + "receive queues of XRC: close those first.";
            case "ibv_close_xrcd" -> "The XRC domain is still in use by shared receive queues or queue pairs: close "
                    + "those first.";
            case "ibv_destroy_comp_channel" -> "The channel is still in use by completion queues: close those first.";
            case "ibv_destroy_srq" -> "The shared receive queue is still in use by queue pairs: close those first.";
            case "ibv_destroy_qp" -> "The queue pair is still attached to multicast groups, or flow rules lead to it: "
                    + "detach it and close the rules first.";
            case "ibv_destroy_wq" -> "The work queue is still in use by indirection tables: close those first.";
            case "ibv_destroy_rwq_ind_table" -> "The indirection table is still in use by queue pairs: close those "
                    + "first.";
            case "ibv_dereg_mr" -> invalid(function);
            case "ibv_destroy_counters" -> "Flow rules still use the counters: close those first.";
            case "ibv_attach_counters_point_flow" -> "A flow rule already uses the counters: attach all points before "
                    + "the first rule.";
            case "ibv_resize_cq" -> "The completion queue is being resized by another thread: try again.";
            default -> "Another object still uses this one: close that first.";
        };
    }

    private static String invalid(String function) {
        return switch (function) {
            case "ibv_reg_mr", "ibv_reg_mr_iova", "ibv_reg_mr_iova2", "ibv_rereg_mr" -> "Check the access flags "
                    + "(REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE; the device may lack others), and that the "
                    + "length is above 0 and within max_mr_size.";
            case "ibv_dereg_mr" -> "The memory region is still in use by memory windows bound to it: invalidate or "
                    + "close those first.";
            case "ibv_create_cq", "ibv_create_cq_ex", "ibv_resize_cq" ->
                    "Check the number of entries (1 to the device's max_cqe, and not below what waits"
                    + " in the queue) and the completion vector (0 up to num_comp_vectors - 1).";
            case "ibv_create_qp", "ibv_create_qp_ex" ->
                "Check the queue sizes against the device's max_qp_wr and max_sge, that max_inline_data is small (no "
                        + "attribute of a device tells its limit; try 64), that the type is offered, and that queues "
                        + "and protection domain are of the same device.";
            case "ibv_create_srq", "ibv_create_srq_ex", "ibv_modify_srq" ->
                    "Check max_wr and max_sge against the device's max_srq_wr and "
                    + "max_srq_sge, and that the limit is not above max_wr.";
            case "ibv_create_ah", "ibv_init_ah_from_wc" -> "Check the port number, the GID index and the peer's GID: "
                    + "on RoCE an address needs a GRH (is_global = 1), and the two GIDs must be of the same kind "
                    + "(IPv4 or IPv6).";
            case "ibv_query_port", "ibv_query_gid", "ibv_query_gid_ex", "ibv_query_pkey" ->
                "Check the port number (from 1) and the index: `ibv_devinfo -v` shows ports and tables.";
            case "ibv_get_pkey_index" -> "The port's table has no such P_Key: `ibv_devinfo -v` lists those it has.";
            case "ibv_create_flow" -> "Check that the queue pair is of type RAW_PACKET (some devices take UD, too), "
                    + "that the port is the queue pair's, and that each layer of the network has one match.";
            case "ibv_create_wq" -> "Check max_wr and max_sge against the device's max_qp_wr and max_sge, and the "
                    + "flags against its raw_packet_caps.";
            case "ibv_modify_wq" -> "A work queue goes from RESET to RDY, from RDY to ERR, and from each to RESET.";
            case "ibv_create_rwq_ind_table" -> "Check the number of entries against the device's "
                    + "max_rwq_indirection_table_size, and that all work queues are of the same device.";
            case "ibv_read_counters" -> "Read as many values as the highest attached index needs.";
            case "ibv_attach_mcast", "ibv_detach_mcast" -> "Check that the queue pair is of type UD and the GID is a "
                    + "multicast GID (its first byte is 0xff), and for detaching, that it is attached.";
            default -> "An argument is out of range, or belongs to another device: check them against the device's "
                    + "limits (`ibv_devinfo -v`).";
        };
    }

    /** Returns advice on a work request that was refused. */
    private static String post(String function, int errno) {
        return switch (errno) {
            case ENOMEM -> switch (function) {
                case "ibv_post_recv" -> "The receive queue is full: poll completions first (a receive keeps its place "
                        + "until its completion is polled), or create the queue pair with a larger max_recv_wr.";
                case "ibv_post_wq_recv" -> "The work queue is full: poll completions first (a receive keeps its place "
                        + "until its completion is polled), or create it with a larger max_wr.";
                case "ibv_post_srq_recv" -> "The shared receive queue is full: poll completions first (a receive "
                        + "keeps its place until its completion is polled), or create it with a larger max_wr.";
                default -> "The send queue is full: poll completions first (an unsignaled request keeps its place "
                        + "until a later signaled one is polled), or create the queue pair with a larger max_send_wr.";
            };
            case EINVAL -> switch (function) {
                case "ibv_post_recv" -> "Check that the queue pair is not in RESET and has no shared receive queue "
                        + "and no indirection table, and that there are no more scatter/gather elements than "
                        + "max_recv_sge.";
                case "ibv_post_wq_recv" -> "Check that the work queue is not in RESET, and that there are no more "
                        + "scatter/gather elements than max_sge.";
                case "ibv_post_srq_recv" -> "Check that there are no more scatter/gather elements than max_sge.";
                case "ibv_bind_mw" -> "Check that the window is of type 1, the queue pair of the same protection "
                        + "domain and in RTS, the region registered with MW_BIND, the range inside it, and "
                        + "LOCAL_WRITE there for remote writing.";
                default -> "Check that the queue pair is in RTS, that its type offers the opcode, that there are no "
                        + "more scatter/gather elements than max_send_sge and no more inline data than "
                        + "max_inline_data, that the address of an atomic is a"
                        + " multiple of 8, and on UD that there is an address handle.";
            };
            case EOPNOTSUPP, ENOSYS -> "The device does not offer this operation: `ibv_devinfo -v` shows what it can "
                    + "do.";
            default -> call(function, errno);
        };
    }
}
