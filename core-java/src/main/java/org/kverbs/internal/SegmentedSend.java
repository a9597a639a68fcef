package org.kverbs.internal;

import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/**
 * A send whose payload the device cuts into TCP segments, in a {@code struct ibv_send_wr} (IBV_WR_TSO). The same fields
 * carry it to {@code ibv_wr_send_tso} of an extended queue pair.
 */
public final class SegmentedSend {

    /** The longest header and the largest segment size: {@code hdr_sz} and {@code mss} have 16 bits. */
    public static final int MOST = 0xffff;

    private SegmentedSend() {}

    /** Returns whether a request is of this kind. */
    public static boolean is(long request) {
        return Memory.getInt(request + IbvSendWr.OPCODE) == IbvWrOpcode.IBV_WR_TSO;
    }

    /**
     * Writes the header and the segment size.
     *
     * @param header the address of the header, which must be reachable until the post has returned
     */
    public static void write(long request, long header, int length, int mss) {
        Memory.putLong(request + IbvSendWr.TSO_HDR, header);
        Memory.putShort(request + IbvSendWr.TSO_HDR_SZ, (short) length);
        Memory.putShort(request + IbvSendWr.TSO_MSS, (short) mss);
    }

    /** Returns the address of the header. */
    public static long header(long request) {
        return Memory.getLong(request + IbvSendWr.TSO_HDR);
    }

    /** Returns the length of the header in bytes. */
    public static int headerLength(long request) {
        return Short.toUnsignedInt(Memory.getShort(request + IbvSendWr.TSO_HDR_SZ));
    }

    /** Returns the number of payload bytes of each segment but the last. */
    public static int segmentSize(long request) {
        return Short.toUnsignedInt(Memory.getShort(request + IbvSendWr.TSO_MSS));
    }

    /** Names the limit that a request exceeds; null if it is of another kind, or within the limit. */
    public static @Nullable String exceeded(long request, int maxHeader) {
        return !is(request) || headerLength(request) <= maxHeader
                ? null
                : "The request has a header of " + headerLength(request) + " bytes, and max_tso_header is " + maxHeader
                        + ": create the queue pair with a larger one.";
    }
}
