package org.kverbs.benchmarks;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;
import org.kverbs.CompletionQueue;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.MemoryRegion;
import org.kverbs.MemorySlice;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.SendRequests;
import org.kverbs.WorkCompletions;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.QueuePairType;

/**
 * Keeps one direction of a connection full. The caller's thread posts and polls for both sides, or a second thread
 * polls for the receiving one.
 */
final class Stream implements AutoCloseable {

    /** The number of posted receives: enough for a receiver that gets no processor for a while. */
    private static final int RECEIVES = 4096;

    /**
     * The timeout code for one second: no packet is lost here, but on a busy machine a thread may wait for a processor.
     */
    private static final ConnectOptions PATIENT = ConnectOptions.builder().timeout(18).build();

    private final Traffic traffic;
    private final Context source;
    private final Context target;
    private final QueuePair sender;
    private final QueuePair receiver;
    private final MemoryRegion from;
    private final MemoryRegion to;
    private final MemorySlice room;
    private final SendRequests silent = new SendRequests();
    private final SendRequests signaled = new SendRequests();
    private final WorkCompletions sent = new WorkCompletions(16);
    private final WorkCompletions received = new WorkCompletions(256);
    private final @Nullable Thread receiving;
    private volatile boolean isClosed;
    private int outstanding;

    /** @param isParted whether the receiving side has a thread of its own */
    Stream(Device from, Device to, Traffic traffic, boolean isParted) {
        this.traffic = traffic;
        int depth = traffic.batch() * traffic.batches();
        source = from.open();
        target = to.open();
        ProtectionDomain here = source.protectionDomain();
        ProtectionDomain there = target.protectionDomain();
        CompletionQueue sendCq = source.completionQueue(2 * depth);
        CompletionQueue receiveCq = target.completionQueue(RECEIVES);
        sender = here.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, sendCq)
                .with(new QueuePairCapabilities(depth, 1, 1, 1, 0)));
        receiver = there.queuePair(
                QueuePairInitAttributes.of(QueuePairType.RC, receiveCq)
                .with(new QueuePairCapabilities(1, RECEIVES, 1, 1, 0)));
        sender.connect(receiver.endpoint(PATIENT), PATIENT);
        receiver.connect(sender.endpoint(PATIENT), PATIENT);
        this.from = here.memoryRegion(traffic.bytes(), AccessFlag.LOCAL_WRITE);
        this.to = there.memoryRegion(traffic.bytes(), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        room = this.to.slice(0, traffic.bytes());
        fill();
        MemorySlice all = this.from.slice(0, traffic.bytes());
        if (traffic.isReceived()) {
            silent.send(0).from(all);
            signaled.send(1).from(all).signaled();
        } else {
            silent.write(0, this.to.remote()).from(all);
            signaled.write(1, this.to.remote()).from(all).signaled();
        }
        if (traffic.isReceived()) {
            for (int i = 0; i < RECEIVES; i++) {
                postReceive();
            }
        }
        receiving = isParted ? Thread.ofPlatform().daemon().start(this::receiveOn) : null;
    }

    private void receiveOn() {
        while (!isClosed) {
            receive();
            Thread.onSpinWait();
        }
    }

    private void fill() {
        for (long i = 0; i < traffic.bytes(); i++) {
            from.memory().set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + 7));
        }
    }

    /**
     * Posts all messages that there is room for, and polls each side of this thread once. Returns the number of
     * messages that are done.
     */
    int send() {
        while (outstanding < traffic.batches()) {
            for (int i = 1; i < traffic.batch(); i++) {
                sender.post(silent);
            }
            sender.post(signaled);
            outstanding++;
        }
        receiveHere();
        int count = poll(sender.sendCq(), sent);
        outstanding -= count;
        return count * traffic.batch();
    }

    private void receiveHere() {
        if (receiving == null) {
            receive();
        }
    }

    private void receive() {
        int count = poll(receiver.recvCq(), received);
        for (int i = 0; i < count; i++) {
            postReceive();
        }
    }

    private void postReceive() {
        receiver.postReceive(0, room);
    }

    private static int poll(CompletionQueue queue, WorkCompletions batch) {
        int count = queue.poll(batch);
        for (int i = 0; i < count; i++) {
            batch.get(i).orThrow();
        }
        return count;
    }

    /** Waits for the outstanding messages, and checks the bytes. */
    void check() {
        while (outstanding > 0) {
            receiveHere();
            outstanding -= poll(sender.sendCq(), sent);
        }
        long wrong = MemorySegment.mismatch(from.memory(), 0, traffic.bytes(), to.memory(), 0, traffic.bytes());
        if (wrong >= 0) {
            throw new IllegalStateException("%s: byte %d is not what was sent".formatted(traffic.label(), wrong));
        }
    }

    @Override
    public void close() {
        Thread thread = receiving;
        if (thread != null) {
            isClosed = true;
            join(thread);
        }
        source.close();
        target.close();
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while the receiving side ends", e);
        }
    }
}
