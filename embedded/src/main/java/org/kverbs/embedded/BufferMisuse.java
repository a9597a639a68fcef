package org.kverbs.embedded;

import org.jspecify.annotations.Nullable;

/**
 * A mistake with memory that belonged to the device, found by the diagnostics of an {@link EmbeddedFabric} or of the
 * devices that {@link EmbeddedProvider} gives. From its posting until its completion was polled a request's memory is
 * the device's; that of an unsignaled request until a later completion of the same send queue was polled (man 3
 * ibv_post_send, ibv_post_recv). A network card says nothing of such mistakes: data is wrong, sometimes.
 *
 * @param kind what was done wrong
 * @param buffer whose memory it is
 * @param offset of the first byte of it that is concerned
 * @param other the request that was posted before and uses some of the same bytes, of {@link Kind#OVERLAP}; else null
 */
public record BufferMisuse(Kind kind, PostedBuffer buffer, long offset, @Nullable PostedBuffer other) {

    /**
     * What memory is filled with as long as the device may still write it: who reads it before the completion was
     * polled reads these bytes.
     */
    public static final byte POISON = (byte) 0xdb;

    /** What was done wrong. */
    public enum Kind {
        /** The source of a send or RDMA write was changed: a peer may get the one or the other, or a part of each. */
        SOURCE_CHANGED,
        /** The program wrote to memory of a posted receive, or to the destination of a read or an atomic. */
        DESTINATION_WRITTEN,
        /** Two posted requests use the same bytes, and the device writes them for one at least. */
        OVERLAP,
        /** The memory region was deregistered or registered anew. */
        REGION_CLOSED,
        /**
         * The memory of an open region was freed, as its arena was closed, and the device was to use it. Said once a
         * region, whether the diagnostics are on or not; the request that needed the memory failed. The buffer's opcode
         * names that request: RDMA_WRITE, RDMA_READ and FETCH_ADD are a peer's, SEND stands for all requests of
         * this side that send memory, RECV for those that write it, and the address is the region's.
         */
        MEMORY_FREED
    }

    private String use() {
        return switch (buffer.opcode()) {
            case RDMA_WRITE -> "written by a peer";
            case RDMA_READ -> "read by a peer";
            case FETCH_ADD -> "changed by a peer's atomic";
            case SEND -> "sent";
            default -> "written by a receive, read or atomic of this side";
        };
    }

    /** What happened, with which memory, and what to do instead; not where it was posted. */
    @Override
    public String toString() {
        String where = " (from byte " + offset + " on)";
        return switch (kind) {
            case SOURCE_CHANGED -> buffer + where
                    + " were changed while they were posted: change a source only after its completion was polled, or "
                    + "send it inline";
            case DESTINATION_WRITTEN -> buffer + where
                    + " were written by the program while they were posted: the device may write them until the "
                    + "completion was polled";
            case OVERLAP -> buffer + where + " were posted while " + other
                    + " use some of them: give each request that the device writes for memory of its own, or poll the "
                    + "first one before";
            case MEMORY_FREED -> "the memory region at 0x%x of %s was freed while it was registered,"
                            .formatted(buffer.address(), buffer.device())
                    + " and %d bytes of it were to be %s (queue pair %d): close the memory region before the arena of "
                    + "its memory"
                            .formatted(buffer.length(), use(), buffer.queuePair());
            case REGION_CLOSED -> buffer
                    + " were deregistered while they were posted: poll the completion or close the queue pair before "
                    + "the memory region";
        };
    }
}
