package org.kverbs.spi;

/** The data path of a queue pair. Its methods allocate nothing. */
public interface QueuePairOps extends ReceiveOps {

    /**
     * Posts a linked list of send work requests ({@code ibv_post_send}).
     *
     * @param workRequests the address of the first {@code struct ibv_send_wr}
     * @param badWorkRequest the address of a pointer, which is set to the first refused request if the result is
     *     negative
     * @return 0 or -errno
     */
    int postSend(long workRequests, long badWorkRequest);
}
