package org.kverbs.benchmarks;

import java.util.function.Consumer;
import org.kverbs.CompletionQueue;
import org.kverbs.MemorySlice;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.SendRequests;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.QueuePairType;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/** Measures the cost of a post. Each has a counterpart in {@code loops.c}; both ways to post one write share one. */
public class Posting extends OnNullDevice {

    private static final int LIST = 16;

    /** How posts are called: as for a card, or as for a driver that makes a system call. */
    @Param({"true", "false"})
    public boolean shortPost;

    private QueuePair qp;
    private MemorySlice slice;
    private final SendRequests prebuilt = new SendRequests();
    private final SendRequests own = new SendRequests();
    private long id;
    // In fields, since such a reference is an object, which the JIT does not always remove.
    private Consumer<SendRequests> one;
    private Consumer<SendRequests> sixteen;

    /** Opens the device and makes a queue pair. */
    @Setup
    public void open() {
        context = NullDevice.open(shortPost, false);
        ProtectionDomain pd = context.protectionDomain();
        CompletionQueue cq = context.completionQueue(256);
        qp = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq));
        slice = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE).slice(0, 64);
        one = this::encodeOne;
        sixteen = this::encodeSixteen;
        prebuilt.write(1, 0x1000, 7).from(slice).signaled();
    }

    /** Posts one write that was encoded before. */
    @Benchmark
    public void prebuiltWrite() {
        qp.post(prebuilt);
    }

    /** Encodes and posts one write. */
    @Benchmark
    public void write() {
        qp.postWith(one);
    }

    /** Posts one write without a list. */
    @Benchmark
    public void postWrite() {
        qp.postWrite(id++, slice, 0x1000, 7);
    }

    /** Encodes sixteen writes and posts them with one call. */
    @Benchmark
    public void writeList() {
        qp.postWith(sixteen);
    }

    /** Encodes sixteen writes in a list of the program's own and posts them with one call. */
    @Benchmark
    public void ownList() {
        own.clear();
        encodeSixteen(own);
        qp.post(own);
    }

    private void encodeOne(SendRequests list) {
        encode(list, id++);
    }

    private void encodeSixteen(SendRequests list) {
        for (int i = 0; i < LIST; i++) {
            encode(list, i);
        }
    }

    private void encode(SendRequests list, long workRequestId) {
        list.write(workRequestId, 0x1000, 7).from(slice).signaled();
    }

    /** Encodes and posts one receive. */
    @Benchmark
    public void postReceive() {
        qp.postReceive(id++, slice);
    }
}
