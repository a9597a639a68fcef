package org.kverbs.embedded.internal.objects;

/** A completion counter ({@code struct ibv_comp_cntr}). Guarded by the engine's lock. */
public final class CompletionCount {

    private final boolean countsBytes;
    public long completions;
    public long errors;
    /** The number of operations of queue pairs that it counts. */
    public int users;

    public CompletionCount(boolean countsBytes) {
        this.countsBytes = countsBytes;
    }

    /** Counts an operation. */
    public void count(long bytes, boolean failed) {
        if (failed) {
            errors++;
        } else {
            completions += countsBytes ? bytes : 1;
        }
    }
}
