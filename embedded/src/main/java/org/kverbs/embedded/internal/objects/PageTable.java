package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;

/**
 * The pages of a region with on-demand paging that the device has: each for reading, or also for writing. A page stays
 * until the region ends, moves, or gets other rights, or until an implicit region gets other memory there. Called with
 * the lock held.
 */
public final class PageTable {

    static final long PAGE = 1L << AddressSpace.PAGE_SHIFT;
    /** The pages of one entry: one bit each. */
    private static final int ENTRY_PAGES = Long.SIZE;

    private static final int ENTRY_SHIFT = AddressSpace.PAGE_SHIFT + 6;

    /** One bit for each page of an entry. */
    private static final class Entry {
        long readable;
        long writable;
    }

    private final AddressSpace space;
    private IntMap<Entry> entries = new IntMap<>();

    PageTable(AddressSpace space) {
        this.space = space;
    }

    void clear() {
        entries = new IntMap<>();
    }

    /** Forgets the pages of a range. */
    void drop(long address, long bytes) {
        for (long at = address, end = address + bytes; at < end && isInUserSpace(at, 0); at = nextEntry(at)) {
            int number = (int) (at >>> ENTRY_SHIFT);
            Entry entry = entries.get(number);
            if (entry != null) {
                entry.readable &= ~mask(at, end);
                entry.writable &= ~mask(at, end);
                if (entry.readable == 0) {
                    entries.remove(number);
                }
            }
        }
    }

    /** Brings the memory in for a touch by this process; the device does not get it. Returns false if it can't. */
    boolean bring(long address, long bytes, boolean writes) {
        return isInUserSpace(address, bytes)
                && (missing(address, bytes, writes) == 0 || space.bring(address, bytes, writes));
    }

    /** Tells whether the memory is mapped. It need not be here. */
    public boolean isMapped(long address, long bytes, boolean writes) {
        return isInUserSpace(address, bytes)
                && (missing(address, bytes, writes) == 0 || space.isMapped(address, bytes, writes));
    }

    /**
     * Makes the pages of a range present.
     *
     * @return the number of pages that were missing, or below zero if a part of the range is not mapped
     */
    public long fetch(long address, long bytes, boolean writes) {
        if (!isInUserSpace(address, bytes)) {
            return -1;
        }
        long missing = missing(address, bytes, writes);
        if (missing == 0) {
            return 0;
        }
        if (!space.bring(address, bytes, writes)) {
            return -1;
        }
        add(address, bytes, writes);
        return missing;
    }

    /**
     * Makes those pages of a range present for reading that are in memory.
     *
     * @return the number of pages that were missing before and are here now; below zero if the system does not tell
     *     which pages are in memory
     */
    public long fetchPresent(long address, long bytes) {
        long start = address & -PAGE;
        int pages = (int) ((address + bytes - 1 >>> AddressSpace.PAGE_SHIFT) - (start >>> AddressSpace.PAGE_SHIFT)) + 1;
        boolean @Nullable [] present = space.present(start, pages);
        if (present == null) {
            return -1;
        }
        long fetched = 0;
        for (int i = 0; i < pages; i++) {
            if (present[i]) {
                fetched += Math.max(0, fetch(start + i * PAGE, PAGE, false));
            }
        }
        return fetched;
    }

    /** Tells whether the numbers of all entries fit into an int; no system maps memory of a program beyond that. */
    private static boolean isInUserSpace(long address, long bytes) {
        return address >= 0 && address + bytes >= 0 && address + bytes >>> ENTRY_SHIFT <= Integer.MAX_VALUE;
    }

    private long missing(long address, long bytes, boolean writes) {
        long missing = 0;
        for (long at = address, end = address + bytes; at < end; at = nextEntry(at)) {
            Entry entry = entries.get((int) (at >>> ENTRY_SHIFT));
            long here = entry == null ? 0 : writes ? entry.writable : entry.readable;
            missing += Long.bitCount(mask(at, end) & ~here);
        }
        return missing;
    }

    private void add(long address, long bytes, boolean writes) {
        for (long at = address, end = address + bytes; at < end; at = nextEntry(at)) {
            int number = (int) (at >>> ENTRY_SHIFT);
            Entry entry = entries.get(number);
            if (entry == null) {
                entry = new Entry();
                entries.put(number, entry);
            }
            long pages = mask(at, end);
            entry.readable |= pages;
            entry.writable |= writes ? pages : 0;
        }
    }

    private static long nextEntry(long at) {
        return (at >>> ENTRY_SHIFT) + 1 << ENTRY_SHIFT;
    }

    /** Returns the bits of the pages from an address to an end that lie in the entry of the address. */
    private static long mask(long at, long end) {
        int first = (int) (at >>> AddressSpace.PAGE_SHIFT) & ENTRY_PAGES - 1;
        long last = Math.min(end, nextEntry(at)) - 1;
        int most = (int) (last >>> AddressSpace.PAGE_SHIFT) & ENTRY_PAGES - 1;
        return -1L << first & -1L >>> ENTRY_PAGES - 1 - most;
    }
}
