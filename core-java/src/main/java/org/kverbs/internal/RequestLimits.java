package org.kverbs.internal;

import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvRecvWr;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.memory.Memory;

/**
 * Checks a work request against the limits of its queue. A driver can refuse a request above a limit with ENOMEM, as
 * for a full queue, but such a request never fits, even into an empty queue.
 */
public final class RequestLimits {

    private RequestLimits() {}

    /**
     * Names the limit that a send request exceeds.
     *
     * @param request the address of the {@code struct ibv_send_wr}
     * @return a sentence with the limit's name and value; null if the request is within the limits
     */
    public static @Nullable String exceededBySend(long request, int maxSendWr, int maxSendSge, int maxInlineData) {
        int entries = Memory.getInt(request + IbvSendWr.NUM_SGE);
        if (maxSendWr == 0) {
            return "The queue pair was created with max_send_wr 0, so it takes no send request.";
        }
        if (entries > maxSendSge) {
            return tooManyEntries(entries, "max_send_sge", maxSendSge);
        }
        if (!isInline(request)) {
            return null;
        }
        long length = length(request, entries);
        return length <= maxInlineData
                ? null
                : "The request has " + length + " bytes of inline data, and max_inline_data is " + maxInlineData
                        + ": create the queue pair with a larger one, or send from a memory region.";
    }

    /**
     * Names the limit that a receive request exceeds.
     *
     * @param request the address of the {@code struct ibv_recv_wr}
     * @param maxWr how many receives the queue has room for
     * @param maxEntries how many scatter/gather entries a receive of the queue may have
     * @param prefix the beginning of the limits' names: {@code max_recv_} for a queue pair, {@code max_} for a shared
     *     receive queue or a work queue
     * @return a sentence with the limit's name and value; null if the request is within the limits
     */
    public static @Nullable String exceededByReceive(long request, int maxWr, int maxEntries, String prefix) {
        int entries = Memory.getInt(request + IbvRecvWr.NUM_SGE);
        if (maxWr == 0) {
            return "The queue was created with " + prefix + "wr 0, so it takes no receive request.";
        }
        return entries <= maxEntries ? null : tooManyEntries(entries, prefix + "sge", maxEntries);
    }

    private static String tooManyEntries(int entries, String limit, int value) {
        return "The request has " + entries + " scatter/gather entries, and " + limit + " is " + value
                + ": create the queue with a larger one, or split the request.";
    }

    /** Returns whether a send request carries its bytes inline. */
    public static boolean isInline(long request) {
        return (Memory.getInt(request + IbvSendWr.SEND_FLAGS) & IbvSendFlags.IBV_SEND_INLINE) != 0;
    }

    /** Returns the number of bytes of the first {@code entries} entries of a send request together. */
    public static long length(long request, int entries) {
        long entry = Memory.getLong(request + IbvSendWr.SG_LIST);
        long length = 0;
        for (int i = 0; i < entries; i++) {
            length += Integer.toUnsignedLong(Memory.getInt(entry + (long) i * IbvSge.SIZE + IbvSge.LENGTH));
        }
        return length;
    }
}
