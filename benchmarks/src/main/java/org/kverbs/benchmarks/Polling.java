package org.kverbs.benchmarks;

import org.kverbs.CompletionHandler;
import org.kverbs.CompletionQueue;
import org.kverbs.WorkCompletion;
import org.kverbs.WorkCompletions;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/** Measures the cost of a poll. Each method has its counterpart in {@code loops.c}; both ways to poll share one. */
public class Polling extends OnNullDevice {

    private static final int BATCH = 16;

    /** True if each poll finds a full batch, or no completion. */
    @Param({"false", "true"})
    public boolean completions;

    private CompletionQueue cq;
    private final WorkCompletions batch = new WorkCompletions(BATCH);
    private final CompletionHandler handler = completion -> this.sum += fields(completion);
    private long sum;

    /** Opens the device and makes a queue. */
    @Setup
    public void open() {
        context = NullDevice.open(true, completions);
        cq = context.completionQueue(256);
    }

    /** Polls into a batch, and reads five fields of each completion. */
    @Benchmark
    public long batch() {
        int count = cq.poll(batch);
        long total = 0;
        for (int i = 0; i < count; i++) {
            total += fields(batch.get(i));
        }
        return total;
    }

    /** Polls with a handler, which reads five fields of each completion. */
    @Benchmark
    public long handler() {
        cq.poll(handler, BATCH);
        return sum;
    }

    private static long fields(WorkCompletion completion) {
        return completion.workRequestId()
                + completion.rawStatus()
                + completion.rawOpcode()
                + completion.byteLength()
                + completion.queuePairNumber();
    }
}
