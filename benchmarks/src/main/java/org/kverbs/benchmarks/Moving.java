package org.kverbs.benchmarks;

import org.kverbs.ReceiveRequests;
import org.kverbs.SendRequests;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;

/** What moving a message between two embedded devices costs one thread that posts and polls for both of them. */
public class Moving extends OnEmbeddedDevices {

    /** Messages that are posted with one call. */
    static final int LIST = 16;
    /** Bytes of a small message. */
    static final int SMALL = 64;
    /** Bytes of a large message. */
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

    /** A receive is posted, a message of 64 bytes is sent, and its completions at both ends are polled. */
    @Benchmark
    public void oneSend() {
        far.qp.postReceive(receive);
        near.qp.post(send);
        far.awaitReceives(1);
        near.awaitSends(1);
    }

    /** Sixteen messages of 64 bytes: as above, in lists, with one completion at the sender. */
    @Benchmark
    @OperationsPerInvocation(LIST)
    public void sendList() {
        far.qp.postReceive(receives);
        near.qp.post(sends);
        far.awaitReceives(LIST);
        near.awaitSends(1);
    }

    /** 1 MiB is written, and the completion polled. */
    @Benchmark
    public void largeWrite() {
        near.qp.post(write);
        near.awaitSends(1);
    }
}
