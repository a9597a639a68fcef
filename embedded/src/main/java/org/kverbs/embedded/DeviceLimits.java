package org.kverbs.embedded;

/**
 * Sets how many objects an embedded device has, and how large they can be. Immutable: each function returns a copy with
 * one limit changed, as in {@code DeviceLimits.DEFAULTS.queuePairs(2).lockedBytes(1 << 20)}. The device's attributes
 * report the same limits (man 3 ibv_query_device), except {@code lockedBytes}.
 *
 * <p>Counts cover all contexts of the device together. The device refuses one object more with ENOMEM, and the
 * exception names the limit. The device refuses a size beyond its limit with EINVAL.
 *
 * @param queuePairs {@code max_qp}
 * @param completionQueues {@code max_cq}
 * @param sharedReceiveQueues {@code max_srq}
 * @param memoryRegions {@code max_mr}, and as many windows ({@code max_mw}) and address handles ({@code max_ah})
 * @param protectionDomains {@code max_pd}
 * @param lockedBytes the bytes of all memory regions together, as RLIMIT_MEMLOCK counts those of a process
 * @param workRequests {@code max_qp_wr}, of a send queue and of a receive queue
 * @param sharedReceives {@code max_srq_wr}
 * @param completions {@code max_cqe}
 * @param entries scatter and gather entries of a work request: {@code max_sge}, {@code max_srq_sge}
 * @param inlineBytes bytes of inline data of a work request; no device attribute reports this limit
 * @param reads {@code max_qp_rd_atom}: RDMA reads and atomics that a queue pair can have in flight
 */
public record DeviceLimits(
        int queuePairs,
        int completionQueues,
        int sharedReceiveQueues,
        int memoryRegions,
        int protectionDomains,
        long lockedBytes,
        int workRequests,
        int sharedReceives,
        int completions,
        int entries,
        int inlineBytes,
        int reads) {

    /** The limits of a device that is added without limits: large counts, and no limit on locked bytes. */
    public static final DeviceLimits DEFAULTS = new DeviceLimits(
            1 << 16, 1 << 16, 1 << 16, 1 << 18, 1 << 16, Long.MAX_VALUE, 1 << 14, 1 << 15, 1 << 20, 32, 1024, 128);

    /**
     * Checks the limits.
     *
     * @throws IllegalArgumentException if a limit is below zero, or above that of {@link #DEFAULTS}
     */
    public DeviceLimits {
        check("queuePairs", queuePairs, 1 << 16);
        check("completionQueues", completionQueues, 1 << 16);
        check("sharedReceiveQueues", sharedReceiveQueues, 1 << 16);
        check("memoryRegions", memoryRegions, 1 << 18);
        check("protectionDomains", protectionDomains, 1 << 16);
        check("lockedBytes", lockedBytes, Long.MAX_VALUE);
        check("workRequests", workRequests, 1 << 14);
        check("sharedReceives", sharedReceives, 1 << 15);
        check("completions", completions, 1 << 20);
        check("entries", entries, 32);
        check("inlineBytes", inlineBytes, 1024);
        check("reads", reads, 128);
    }

    private static void check(String name, long value, long most) {
        if (value < 0 || value > most) {
            throw new IllegalArgumentException(name + " is " + value + ": give a number from 0 to " + most);
        }
    }

    /** Returns a copy with this number of queue pairs. */
    public DeviceLimits queuePairs(int most) {
        return new DeviceLimits(
                most, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of completion queues. */
    public DeviceLimits completionQueues(int most) {
        return new DeviceLimits(
                queuePairs, most, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes, workRequests,
                sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of shared receive queues. */
    public DeviceLimits sharedReceiveQueues(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, most, memoryRegions, protectionDomains, lockedBytes, workRequests,
                sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of memory regions, windows and address handles. */
    public DeviceLimits memoryRegions(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, most, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of protection domains. */
    public DeviceLimits protectionDomains(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, most, lockedBytes, workRequests,
                sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of bytes for all memory regions together. */
    public DeviceLimits lockedBytes(long most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, most,
                workRequests, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of work requests for each send queue and each receive queue. */
    public DeviceLimits workRequests(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                most, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of receives for each shared receive queue. */
    public DeviceLimits sharedReceives(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, most, completions, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of entries for each completion queue. */
    public DeviceLimits completions(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, most, entries, inlineBytes, reads);
    }

    /** Returns a copy with this number of scatter and gather entries for each work request. */
    public DeviceLimits entries(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, most, inlineBytes, reads);
    }

    /** Returns a copy with this number of bytes of inline data for each work request. */
    public DeviceLimits inlineBytes(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, most, reads);
    }

    /** Returns a copy with this number of reads and atomics in flight for each queue pair. */
    public DeviceLimits reads(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, inlineBytes, most);
    }
}
