package org.kverbs.benchmarks;

import org.kverbs.ReceiveRequests;
import org.kverbs.SendRequests;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;

/** Measures the cost of a message between two embedded devices for one thread that posts and polls for both. */
public class Moving extends OnEmbeddedDevices {

    /** The number of messages that one call posts. */
    static final int LIST = 16;
    /** The bytes of a small message. */
    static final int SMALL = 64;
    /** The bytes of a large message. */
    static final int LARGE = 1 << 20;

    private final SendRequests send = new SendRequests();
    private final ReceiveRequests receive = new ReceiveRequests();
    private final SendRequests sends = new SendRequests();
    private final ReceiveRequests receives = new ReceiveRequests();
    private final SendRequests write = new SendRequests();

    @Override
    int bytes() {
        return LARGE;
    }

    @Override
    void prepare() {
        send.send(1).from(near.memory.slice(0, SMALL)).signaled();
        receive.receive(1).into(far.memory.slice(0, SMALL));
        for (int i = 0; i < LIST; i++) {
            sends.send(i).from(near.memory.slice(0, SMALL));
            receives.receive(i).into(far.memory.slice((long) i * SMALL, SMALL));
        }
        sends.signaled();
        write.write(1, far.memory.remote()).from(near.memory.slice(0, LARGE)).signaled();
    }

    /** Posts a receive, sends a message of 64 bytes, and polls the completions at both ends. */
    @Benchmark
    public void oneSend() {
        far.qp.postReceive(receive);
        near.qp.post(send);
        far.awaitReceives(1);
        near.awaitSends(1);
    }

    /** Does the same for sixteen messages of 64 bytes in lists, with one completion at the sender. */
    @Benchmark
    @OperationsPerInvocation(LIST)
    public void sendList() {
        far.qp.postReceive(receives);
        near.qp.post(sends);
        far.awaitReceives(LIST);
        near.awaitSends(1);
    }

    /** Writes 1 MiB and polls the completion. */
    @Benchmark
    public void largeWrite() {
        near.qp.post(write);
        near.awaitSends(1);
    }
}
