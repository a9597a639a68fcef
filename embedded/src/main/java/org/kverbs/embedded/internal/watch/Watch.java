package org.kverbs.embedded.internal.watch;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.BufferMisuse;
import org.kverbs.embedded.BufferMisuse.Kind;

/**
 * Watches the memory of all requests that are posted on some devices, and reports mistakes. Bytes that two requests use
 * at once, or that a peer reads, writes or changes, are no longer guarded, since the writer could not be determined.
 *
 * <p>Any thread may use it. Its lock is taken after the device's; the listener is called with both held.
 */
public final class Watch {

    /** The length of the longest entry that is guarded: its copy stands on the heap. */
    private static final long LONGEST = 1 << 28;

    private final Consumer<BufferMisuse> listener;
    private final Set<Posted> posted = new LinkedHashSet<>();
    private final TreeMap<Long, List<Entry>> byAddress = new TreeMap<>();
    /** An upper bound of the lengths of all entries. */
    private long longest;

    public Watch(Consumer<BufferMisuse> listener) {
        this.listener = listener;
    }

    /**
     * Begins to watch a request.
     *
     * @param opcode {@code enum ibv_wc_opcode} of its completion
     * @param entries the most entries that it has
     */
    public synchronized Posted post(Poster poster, long id, int opcode, boolean isSend, boolean isFenced, int entries) {
        var request = new Posted(this, poster, id, opcode, isSend, isFenced, entries);
        posted.add(request);
        return request;
    }

    synchronized void add(int number, Entry entry) {
        boolean shared = false;
        boolean told = false;
        for (Entry other : overlapping(entry.address, entry.length)) {
            if (entry.isDestination || other.isDestination) {
                shared = true;
                if (!told && !areOrdered(other, entry)) {
                    told = true;
                    report(Kind.OVERLAP, entry, Math.max(0, other.address - entry.address), other);
                }
                unguard(other);
            }
        }
        if (!shared && entry.length <= LONGEST) {
            entry.guard();
        }
        entry.posted.entries[number] = entry;
        byAddress.computeIfAbsent(entry.address, at -> new ArrayList<>(1)).add(entry);
        longest = Math.max(longest, entry.length);
    }

    /**
     * Tells whether the device must be done with the first request before it begins the second. With a fence, the
     * result of a read or atomic may be sent on. And data that was sent has arrived when a later read or atomic of the
     * same queue is answered (IBA volume 1, 10.8.3.3).
     */
    private static boolean areOrdered(Entry first, Entry second) {
        return first.posted != second.posted
                && first.posted.poster() == second.posted.poster()
                && first.posted.isSend
                && second.posted.isSend
                && (first.isDestination ? second.posted.isFenced && !second.isDestination : second.isDestination);
    }

    private List<Entry> overlapping(long address, long length) {
        var found = new ArrayList<Entry>();
        for (List<Entry> same : byAddress.subMap(address - longest, address + length).values()) {
            for (Entry each : same) {
                if (each.end() > address) {
                    found.add(each);
                }
            }
        }
        return found;
    }

    /**
     * Notes that a peer reads or writes memory. Posted entries there are no longer guarded; this is not yet a mistake.
     */
    public synchronized void touched(long address, long length, boolean writes) {
        for (Entry each : overlapping(address, length)) {
            if (writes || each.isDestination) {
                unguard(each);
            }
        }
    }

    /** Reports posted entries of a region that is deregistered or reregistered. */
    public synchronized void regionClosed(WatchedMemory region) {
        for (Posted each : posted) {
            for (Entry entry : each.entries) {
                if (entry != null && entry.region == region) {
                    report(Kind.REGION_CLOSED, entry, 0, null);
                    unguard(entry);
                }
            }
        }
    }

    /** Releases the requests of a queue that is destroyed or reset. */
    public synchronized void forget(Poster poster) {
        List.copyOf(posted).stream().filter(each -> each.poster() == poster).forEach(this::release);
    }

    void release(Posted request) {
        if (!posted.remove(request)) {
            return;
        }
        for (Entry entry : request.entries) {
            if (entry != null) {
                unguard(entry);
                byAddress.computeIfPresent(entry.address, (at, same) -> same.remove(entry) && same.isEmpty()
                        ? null : same);
            }
        }
        if (posted.isEmpty()) {
            longest = 0;
        }
    }

    private void unguard(Entry entry) {
        long changed = entry.release();
        if (changed >= 0) {
            report(entry.isDestination ? Kind.DESTINATION_WRITTEN : Kind.SOURCE_CHANGED, entry, changed, null);
        }
    }

    private void report(Kind kind, Entry entry, long offset, @Nullable Entry other) {
        listener.accept(new BufferMisuse(kind, entry.describe(), offset, other == null ? null : other.describe()));
    }
}
