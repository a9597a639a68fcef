package org.kverbs.embedded;

/**
 * Sets how strictly an embedded device enforces rules that hardware has and Soft-RoCE does not enforce. A program that
 * runs on a {@link #STRICT} device runs on both.
 */
public enum Semantics {
    /**
     * Behaves as a network card does (mlx5); the default. A work request keeps its slot in the send or receive queue
     * until the program polls its completion. An unsignaled request keeps its slot until the program polls a later
     * completion of the same send queue. A full queue refuses the next request with ENOMEM. A region's lkey and rkey
     * are different numbers, and the device does not accept one for the other. A completion queue that overruns raises
     * {@code CQ_ERR} and moves its queue pairs to the error state, each with {@code QP_FATAL} (IBA volume 1, 11.6.3.1).
     * Queue pairs can have alternate paths, as on InfiniBand.
     */
    STRICT,

    /**
     * Behaves as the kernel's Soft-RoCE does. A slot is free when the request is done, polled or not. A region has one
     * key for both uses. A completion queue that overruns raises {@code CQ_ERR} and loses completions. There are no
     * alternate paths.
     */
    RXE
}
