package org.kverbs.embedded.internal.watch;

import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.Diagnostics;

/** Watches a posted request until the program polls its completion. */
public final class Posted {

    final long id;
    /** {@code enum ibv_wc_opcode}. */
    final int opcode;
    final boolean isSend;
    final boolean isFenced;
    final @Nullable Throwable postedAt;
    /** By their number in the request; null where the entry is not watched. */
    final @Nullable Entry[] entries;
    private final Watch watch;
    private Poster poster;
    /** Unsignaled requests of the same queue that this request's completion proves to be done. */
    private Collection<Posted> before = List.of();

    Posted(Watch watch, Poster poster, long id, int opcode, boolean isSend, boolean isFenced, int entries) {
        this.watch = watch;
        this.poster = poster;
        this.id = id;
        this.opcode = opcode;
        this.isSend = isSend;
        this.isFenced = isFenced;
        this.entries = new Entry[entries];
        this.postedAt = Diagnostics.areOn() ? new Throwable("posted by " + Thread.currentThread().getName()) : null;
    }

    Poster poster() {
        return poster;
    }

    /** Notes which queue pair took a receive from its shared queue. */
    public void takenBy(Poster queuePair) {
        synchronized (watch) {
            poster = queuePair;
        }
    }

    /**
     * Watches the memory of an entry from now on.
     *
     * @param region the region that {@link Watch#regionClosed} compares
     * @param isDestination whether the device writes to the memory
     */
    public void add(int number, WatchedMemory region, long address, long length, boolean isDestination) {
        watch.add(number, new Entry(this, region, address, length, isDestination));
    }

    /**
     * Stores bytes that the device writes to an entry. Returns false if the device must write them to the memory
     * itself.
     */
    public boolean store(int number, long offset, long from, long bytes) {
        synchronized (watch) {
            Entry entry = entries[number];
            return entry != null && entry.store(offset, from, bytes);
        }
    }

    /** Adds the unsignaled requests of the same queue that were done before this one. */
    public void follows(Collection<Posted> unsignaled) {
        before = unsignaled;
    }

    /** Gives the memory back to the program: the completion was polled, or none will come. */
    public void release() {
        synchronized (watch) {
            before.forEach(watch::release);
            before = List.of();
            watch.release(this);
        }
    }
}
