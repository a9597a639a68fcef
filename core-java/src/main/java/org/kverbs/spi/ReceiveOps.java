package org.kverbs.spi;

/** The receive side of a queue pair or of a shared receive queue: the data path, which never allocates. */
public interface ReceiveOps {

    /**
     * Posts a linked list of receive work requests ({@code ibv_post_recv}, {@code ibv_post_srq_recv}).
     *
     * @param workRequests address of the first {@code struct ibv_recv_wr}
     * @param badWorkRequest address of a pointer, set to the first refused one when the result is below zero
     * @return 0 or -errno
     */
    int postReceive(long workRequests, long badWorkRequest);
}
