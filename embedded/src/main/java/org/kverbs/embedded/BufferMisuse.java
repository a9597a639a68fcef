package org.kverbs.embedded;

import org.jspecify.annotations.Nullable;

/**
 * Describes a mistake with memory that belonged to the device. The diagnostics of an {@link EmbeddedFabric}, or of the
 * devices of {@link EmbeddedProvider}, find it. The memory of a request belongs to the device from the post until the
 * program polls the request's completion. The memory of an unsignaled request belongs to the device until the program
 * polls a later completion of the same send queue (man 3 ibv_post_send, ibv_post_recv). A network card does not report
 * such mistakes: the data is wrong, sometimes.
 *
 * @param kind the mistake
 * @param buffer the memory that belonged to the device
 * @param offset the first affected byte, counted from the start of the buffer
 * @param other for {@link Kind#OVERLAP}: the request that was posted earlier and uses some of the same bytes; else null
 */
public record BufferMisuse(Kind kind, PostedBuffer buffer, long offset, @Nullable PostedBuffer other) {

    /**
     * The byte that fills memory while the device may still write to it. A program that reads the memory before it
     * polls the completion reads these bytes.
     */
    public static final byte POISON = (byte) 0xdb;

    /** The kinds of mistake. */
    public enum Kind {
        /**
         * The program changed the source of a posted send or RDMA write. The peer gets the old bytes, the new bytes or
         * a mix.
         */
        SOURCE_CHANGED,
        /** The program wrote to the memory of a posted receive, or to the destination of a posted read or atomic. */
        DESTINATION_WRITTEN,
        /**
         * Two posted requests use the same bytes, and the device writes to these bytes for at least one of the
         * requests.
         */
        OVERLAP,
        /** The program deregistered or reregistered the memory region while a request that uses it was posted. */
        REGION_CLOSED,
        /**
         * The program closed the arena of an open region's memory, and the device then needed the memory. The request
         * that needed the memory failed. Each region is reported once, with or without diagnostics. The buffer's
         * address is that of the region. The buffer's opcode names the request: RDMA_WRITE, RDMA_READ, FETCH_ADD
         * and FLUSH are a peer's requests, SEND stands for all requests of this side that send memory, and RECV for all
         * that write to it.
         */
        MEMORY_FREED
    }

    private String use() {
        return switch (buffer.opcode()) {
            case RDMA_WRITE -> "written by a peer";
            case RDMA_READ -> "read by a peer";
            case FETCH_ADD -> "changed by a peer's atomic";
            case FLUSH -> "flushed for a peer";
            case SEND -> "sent";
            default -> "written by a receive, read or atomic of this side";
        };
    }

    /** Tells what happened, which memory it concerns, and the cure; the place of the post is not included. */
    @Override
    public String toString() {
        String where = " (from byte " + offset + " on)";
        return switch (kind) {
            case SOURCE_CHANGED -> buffer + where
                    + " were changed while they were posted: change a source only after its completion is polled, or"
                    + " send it inline";
            case DESTINATION_WRITTEN -> buffer + where
                    + " were written by the program while they were posted: leave them to the device until the"
                    + " completion is polled";
            case OVERLAP -> buffer + where + " were posted while " + other
                    + " use some of them: give each request its own memory, or poll the completion of the first"
                    + " request before posting the second";
            case MEMORY_FREED -> "the memory region at 0x%x of %s was freed while it was registered,"
                            .formatted(buffer.address(), buffer.device())
                    + " and %d bytes of it were to be %s (queue pair %d)"
                            .formatted(buffer.length(), use(), buffer.queuePair())
                    + ": close the memory region before the arena of its memory";
            case REGION_CLOSED -> buffer
                    + " were deregistered while they were posted: poll the completion or close the queue pair before "
                    + "the memory region";
        };
    }
}
