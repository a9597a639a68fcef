package org.kverbs.embedded;

import org.jspecify.annotations.Nullable;
import org.kverbs.WorkCompletionOpcode;

/**
 * Describes memory that one scatter or gather entry of a posted work request gives to the device.
 *
 * @param device the device's name
 * @param queuePair the number of the queue pair; 0 for a receive of a work queue, and for one of a
 *     shared queue that no queue pair has taken yet
 * @param workRequestId the {@code wr_id} of the request
 * @param opcode the opcode of the completion; a receive is {@link WorkCompletionOpcode#RECV}
 * @param address the address of the first byte in this process
 * @param length the number of bytes
 * @param postedAt a throwable whose stack trace shows the place of the post; null if {@link org.kverbs.Diagnostics}
 *     were off at the post
 */
public record PostedBuffer(
        String device,
        int queuePair,
        long workRequestId,
        WorkCompletionOpcode opcode,
        long address,
        long length,
        @Nullable Throwable postedAt) {

    /** Returns, for example, {@code the 64 bytes at 0x7f00 of RECV with wr_id 5 on queue pair 17 of embedded0}. */
    @Override
    public String toString() {
        String queue = queuePair == 0 ? "a shared receive queue or a work queue" : "queue pair " + queuePair;
        return "the %d bytes at 0x%x of %s with wr_id %d on %s of %s"
                .formatted(length, address, opcode, workRequestId, queue, device);
    }
}
