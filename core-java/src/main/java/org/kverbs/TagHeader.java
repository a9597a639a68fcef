package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.kverbs.internal.abi.IbvRvh;
import org.kverbs.internal.abi.IbvTmh;
import org.kverbs.internal.abi.IbvTmhOp;
import org.kverbs.internal.values.Ranges;

/**
 * Writes and reads the headers at the start of a message to a queue that matches tags ({@code struct ibv_tmh} and
 * {@code struct ibv_rvh} of {@code infiniband/tm_types.h}). The sender sends them before the payload by an ordinary
 * send of a reliable connection.
 *
 * <p>The methods read and write the segment that they are given, and keep nothing, so any thread may
 * call them. A segment that is too short is an
 * {@link IndexOutOfBoundsException}.
 */
public final class TagHeader {

    /** The bytes of a header with a tag, and of one without. The payload follows. */
    public static final int SIZE = IbvTmh.SIZE;

    /** The bytes of the header of a rendezvous, and of its end: {@link #SIZE} and what names the sender's memory. */
    public static final int RENDEZVOUS_SIZE = IbvTmh.SIZE + IbvRvh.SIZE;

    private static final ValueLayout.OfInt INT =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private TagHeader() {}

    /** The operations of a header: {@code enum ibv_tmh_op}. */
    public enum Operation {
        /** A message that matches no tag ({@code IBV_TMH_NO_TAG}). */
        NO_TAG(IbvTmhOp.IBV_TMH_NO_TAG),
        /** The sender's memory holds the payload, and the receiver reads it ({@code IBV_TMH_RNDV}). */
        RENDEZVOUS(IbvTmhOp.IBV_TMH_RNDV),
        /** The receiver has read the payload ({@code IBV_TMH_FIN}). */
        FINISH(IbvTmhOp.IBV_TMH_FIN),
        /** The payload follows the header ({@code IBV_TMH_EAGER}). */
        EAGER(IbvTmhOp.IBV_TMH_EAGER);

        private final int code;

        Operation(int code) {
            this.code = code;
        }
    }

    /** Writes the header of a message without a tag, {@link #SIZE} bytes. */
    public static void noTag(MemorySegment to) {
        write(to, Operation.NO_TAG, 0, 0);
    }

    /**
     * Writes the header of a message whose payload follows, {@link #SIZE} bytes.
     *
     * @param tag the tag that is matched
     * @param data 32 bits for the receiver: {@link WorkCompletion#matchedTagData}
     */
    public static void eager(MemorySegment to, long tag, int data) {
        write(to, Operation.EAGER, tag, data);
    }

    /**
     * Writes the header of a rendezvous, {@link #RENDEZVOUS_SIZE} bytes. The memory must stay as it is until the
     * receiver has sent a header with {@link Operation#FINISH}.
     *
     * @param payload memory of the sender that a peer may read, at most 2^32 - 1 bytes
     */
    public static void rendezvous(MemorySegment to, long tag, int data, RemoteMemory payload) {
        Ranges.require("the length of the payload", payload.length(), 0, 0xffff_ffffL);
        write(to, Operation.RENDEZVOUS, tag, data);
        to.set(LONG, IbvTmh.SIZE + IbvRvh.VA, payload.address());
        to.set(INT, IbvTmh.SIZE + IbvRvh.RKEY, payload.rkey());
        to.set(INT, IbvTmh.SIZE + IbvRvh.LEN, (int) payload.length());
    }

    /** Turns a copy of the header of a rendezvous into the one that tells its sender that the payload was read. */
    public static void finish(MemorySegment header) {
        header.set(JAVA_BYTE, IbvTmh.OPCODE, (byte) IbvTmhOp.IBV_TMH_FIN);
    }

    private static void write(MemorySegment to, Operation operation, long tag, int data) {
        to.asSlice(0, SIZE).fill((byte) 0);
        to.set(JAVA_BYTE, IbvTmh.OPCODE, (byte) operation.code);
        to.set(INT, IbvTmh.APP_CTX, data);
        to.set(LONG, IbvTmh.TAG, tag);
    }

    /**
     * Returns the operation of a header.
     *
     * @throws IllegalArgumentException if the first byte is none
     */
    public static Operation operation(MemorySegment header) {
        int code = header.get(JAVA_BYTE, IbvTmh.OPCODE);
        for (Operation each : Operation.values()) {
            if (each.code == code) {
                return each;
            }
        }
        throw new IllegalArgumentException("a header of tag matching begins with 0 to 3, not with " + code);
    }

    /** Returns the tag. */
    public static long tag(MemorySegment header) {
        return header.get(LONG, IbvTmh.TAG);
    }

    /** Returns the sender's 32 bits. */
    public static int data(MemorySegment header) {
        return header.get(INT, IbvTmh.APP_CTX);
    }

    /** Returns the sender's memory from the header of a rendezvous, for an RDMA read. */
    public static RemoteMemory payload(MemorySegment header) {
        return new RemoteMemory(
                header.get(LONG, IbvTmh.SIZE + IbvRvh.VA),
                Integer.toUnsignedLong(header.get(INT, IbvTmh.SIZE + IbvRvh.LEN)),
                header.get(INT, IbvTmh.SIZE + IbvRvh.RKEY));
    }
}
