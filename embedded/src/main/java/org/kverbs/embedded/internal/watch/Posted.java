package org.kverbs.embedded.internal.watch;

import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.Diagnostics;

/** A posted request that is watched until its completion was polled. */
public final class Posted {

    final long id;
    /** {@code enum ibv_wc_opcode}. */
    final int opcode;
    final boolean isSend;
    final boolean isFenced;
    final @Nullable Throwable postedAt;
    /** By their number in the request; null where there is nothing to watch. */
    final @Nullable Entry[] entries;
    private final Watch watch;
    private Poster poster;
    /** Unsignaled requests of the same queue, of which this one's completion says that they are done. */
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

    /** Says which queue pair took a receive from its shared queue. */
    public void takenBy(Poster queuePair) {
        synchronized (watch) {
            poster = queuePair;
        }
    }

    /**
     * Watches the memory of an entry from now on.
     *
     * @param region what is told to {@link Watch#regionClosed}
     * @param isDestination whether the device writes it
     */
    public void add(int number, WatchedMemory region, long address, long length, boolean isDestination) {
        watch.add(number, new Entry(this, region, address, length, isDestination));
    }

    /** Takes what the device writes to an entry; false if it is to be written to the memory itself. */
    public boolean store(int number, long offset, long from, long bytes) {
        synchronized (watch) {
            Entry entry = entries[number];
            return entry != null && entry.store(offset, from, bytes);
        }
    }

    /** Adds the unsignaled requests of its queue that were done before it. */
    public void follows(Collection<Posted> unsignaled) {
        before = unsignaled;
    }

    /** The completion was polled, or there never will be one: the memory is the program's again. */
    public void release() {
        synchronized (watch) {
            before.forEach(watch::release);
            before = List.of();
            watch.release(this);
        }
    }
}
