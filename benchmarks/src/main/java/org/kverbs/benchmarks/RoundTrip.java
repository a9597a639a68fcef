package org.kverbs.benchmarks;

import org.kverbs.ReceiveRequests;
import org.kverbs.SendRequests;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Measures the round trip of sixty-four bytes between two embedded devices, with busy polling. */
public class RoundTrip extends OnEmbeddedDevices {

    /** The bytes of a message. */
    static final int BYTES = 64;

    /** True if the echo has its own thread; otherwise one thread polls for both ends. */
    @Param({"false", "true"})
    public boolean twoThreads;

    private final SendRequests ping = new SendRequests();
    private final SendRequests pong = new SendRequests();
    private final ReceiveRequests nearReceive = new ReceiveRequests();
    private final ReceiveRequests farReceive = new ReceiveRequests();
    private Thread echo;
    private volatile boolean closing;

    @Override
    int bytes() {
        return 2 * BYTES;
    }

    @Override
    void prepare() {
        ping.send(1).from(near.memory.slice(0, BYTES)).signaled();
        pong.send(1).from(far.memory.slice(0, BYTES)).signaled();
        nearReceive.receive(1).into(near.memory.slice(BYTES, BYTES));
        farReceive.receive(1).into(far.memory.slice(BYTES, BYTES));
        far.qp.postReceive(farReceive);
        if (twoThreads) {
            echo = Thread.ofPlatform().daemon().start(() -> {
                while (!closing) {
                    echo();
                }
            });
        }
    }

    private void echo() {
        far.awaitReceives(1);
        far.qp.postReceive(farReceive);
        far.qp.post(pong);
        far.awaitSends(1);
    }

    /** Makes one round trip. */
    @Benchmark
    public void roundTrip() {
        near.qp.postReceive(nearReceive);
        near.qp.post(ping);
        if (!twoThreads) {
            echo();
        }
        near.awaitReceives(1);
        near.awaitSends(1);
    }

    @Override
    void stop() throws InterruptedException {
        // The echo checks the flag after each message.
        closing = true;
        if (twoThreads) {
            roundTrip();
            echo.join();
        }
    }
}
