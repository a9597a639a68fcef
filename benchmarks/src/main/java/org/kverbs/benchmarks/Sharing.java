package org.kverbs.benchmarks;

import org.kverbs.SendRequests;
import org.kverbs.embedded.EmbeddedFabric;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Threads;

/**
 * Measures threads on one fabric, each with two devices and a connection of its own, beside one thread alone. The time
 * is that of one thread's operation: two threads that do not disturb each other take as long as one.
 */
public class Sharing extends OnEmbeddedDevices {

    private static final EmbeddedFabric FABRIC = EmbeddedFabric.realTime(1);

    private final SendRequests small = new SendRequests();
    private final SendRequests large = new SendRequests();

    @Override
    EmbeddedFabric fabric() {
        return FABRIC;
    }

    @Override
    int bytes() {
        return Moving.LARGE;
    }

    @Override
    void prepare() {
        small.write(1, far.memory.remote()).from(near.memory.slice(0, Moving.SMALL)).signaled();
        large.write(1, far.memory.remote()).from(near.memory.slice(0, Moving.LARGE)).signaled();
    }

    private void move(SendRequests requests) {
        near.qp.post(requests);
        near.awaitSends(1);
    }

    /** Writes 64 bytes and polls the completion, in one thread. */
    @Benchmark
    public void smallAlone() {
        move(small);
    }

    /** Writes 64 bytes and polls the completion, in each of two threads. */
    @Benchmark
    @Threads(2)
    public void smallBeside() {
        move(small);
    }

    /** Writes 1 MiB and polls the completion, in one thread. */
    @Benchmark
    public void largeAlone() {
        move(large);
    }

    /** Writes 1 MiB and polls the completion, in each of two threads. */
    @Benchmark
    @Threads(2)
    public void largeBeside() {
        move(large);
    }
}
