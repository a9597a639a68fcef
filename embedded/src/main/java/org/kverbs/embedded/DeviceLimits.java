package org.kverbs.embedded;

/**
 * How many of everything an embedded device has, and how large. Immutable: each function gives a copy with one limit
 * changed, as in {@code DeviceLimits.DEFAULTS.queuePairs(2).lockedBytes(1 << 20)}. The device's attributes say the
 * same (man 3 ibv_query_device), except {@code lockedBytes}.
 *
 * <p>Counts are of all contexts of the device together; one more is refused with ENOMEM, and the exception names the
 * limit. A size beyond its limit is refused with EINVAL.
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
 * @param inlineBytes inline data of a work request, which no attribute of a device says
 * @param reads {@code max_qp_rd_atom}: RDMA reads and atomics that a queue pair may have on their way
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

    /** Those of a device that is given no others: generous, and without a limit on locked bytes. */
    public static final DeviceLimits DEFAULTS = new DeviceLimits(
            1 << 16, 1 << 16, 1 << 16, 1 << 18, 1 << 16, Long.MAX_VALUE, 1 << 14, 1 << 15, 1 << 20, 32, 1024, 128);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is below zero, or above that of the {@link #DEFAULTS}
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
            throw new IllegalArgumentException(name + " " + value + ": 0 to " + most);
        }
    }

    /** With so many queue pairs. */
    public DeviceLimits queuePairs(int most) {
        return new DeviceLimits(
                most, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many completion queues. */
    public DeviceLimits completionQueues(int most) {
        return new DeviceLimits(
                queuePairs, most, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes, workRequests,
                sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many shared receive queues. */
    public DeviceLimits sharedReceiveQueues(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, most, memoryRegions, protectionDomains, lockedBytes, workRequests,
                sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many memory regions, so many windows and so many address handles. */
    public DeviceLimits memoryRegions(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, most, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many protection domains. */
    public DeviceLimits protectionDomains(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, most, lockedBytes, workRequests,
                sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many bytes in all memory regions together. */
    public DeviceLimits lockedBytes(long most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, most,
                workRequests, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many work requests in a send queue, and in a receive queue. */
    public DeviceLimits workRequests(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                most, sharedReceives, completions, entries, inlineBytes, reads);
    }

    /** With so many receives in a shared receive queue. */
    public DeviceLimits sharedReceives(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, most, completions, entries, inlineBytes, reads);
    }

    /** With so many entries of a completion queue. */
    public DeviceLimits completions(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, most, entries, inlineBytes, reads);
    }

    /** With so many scatter and gather entries of a work request. */
    public DeviceLimits entries(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, most, inlineBytes, reads);
    }

    /** With so many bytes of inline data. */
    public DeviceLimits inlineBytes(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, most, reads);
    }

    /** With so many reads and atomics of a queue pair on their way. */
    public DeviceLimits reads(int most) {
        return new DeviceLimits(
                queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, protectionDomains, lockedBytes,
                workRequests, sharedReceives, completions, entries, inlineBytes, most);
    }
}
