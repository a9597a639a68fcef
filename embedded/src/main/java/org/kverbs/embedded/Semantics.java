package org.kverbs.embedded;

/**
 * How strictly an embedded device holds a program to the rules that hardware has and Soft-RoCE forgives. A program
 * that runs on a {@link #STRICT} device runs on both.
 */
public enum Semantics {
    /**
     * As a network card does (mlx5), the default. A work request keeps its slot of the send or receive queue until its
     * completion is polled; an unsignaled one until a later completion of the same send queue is polled. A full queue
     * refuses the next request with ENOMEM. A region's lkey is another number than its rkey, and neither is taken for
     * the other. A completion queue that overruns raises {@code CQ_ERR} and takes its queue pairs to the error state,
     * each with {@code QP_FATAL} (IBA volume 1, 11.6.3.1).
     */
    STRICT,

    /**
     * As the kernel's Soft-RoCE does: a slot is free when the request is done, polled or not; a region has one key for
     * both uses; a completion queue that overruns raises {@code CQ_ERR}, and loses completions.
     */
    RXE
}
