package org.kverbs.spi;

/** The data path of the receive side of a queue pair or of a shared receive queue. Its method allocates nothing. */
public interface ReceiveOps {

    /**
     * Posts a linked list of receive work requests ({@code ibv_post_recv}, {@code ibv_post_srq_recv}).
     *
     * @param workRequests the address of the first {@code struct ibv_recv_wr}
     * @param badWorkRequest the address of a pointer, which is set to the first refused request if the result is
     *     negative
     * @return 0 or -errno
     */
    int postReceive(long workRequests, long badWorkRequest);
}
