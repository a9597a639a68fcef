package org.kverbs.spi;

/** The data path of a queue pair, which never allocates. */
public interface QueuePairOps extends ReceiveOps {

    /**
     * Posts a linked list of send work requests ({@code ibv_post_send}).
     *
     * @param workRequests address of the first {@code struct ibv_send_wr}
     * @param badWorkRequest address of a pointer, set to the first refused one when the result is below zero
     * @return 0 or -errno
     */
    int postSend(long workRequests, long badWorkRequest);
}
