package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.watch.Posted;
import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvRecvWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.memory.Memory;

/** Keeps posted receives in a ring: those of one queue pair, or of a shared receive queue. */
public final class ReceiveQueue {

    private final int maxEntries;
    private int capacity;
    private int head;
    private int size;
    private long[] ids;
    private int[] counts;
    private long[] addresses;
    private int[] lengths;
    private int[] lkeys;
    /** The occupied slots; with strict semantics these can be more than the receives in the ring. */
    public final Occupancy occupied;
    private final DeviceState device;
    private final Pd pd;
    private final Poster poster;
    /** The diagnostics' records of the receives; null if the diagnostics were never on. */
    private @Nullable Posted @Nullable [] posted;

    /** @param isShared whether the receives of the queue complete in several completion queues */
    public ReceiveQueue(DeviceState device, Pd pd, Poster poster, int capacity, int maxEntries, boolean isShared) {
        this(device, pd, poster, capacity, maxEntries, new Occupancy(device.semantics, isShared));
    }

    private ReceiveQueue(DeviceState device, Pd pd, Poster poster, int capacity, int maxEntries, Occupancy occupied) {
        this.occupied = occupied;
        this.device = device;
        this.pd = pd;
        this.poster = poster;
        this.capacity = capacity;
        this.maxEntries = maxEntries;
        ids = new long[capacity];
        counts = new int[capacity];
        addresses = new long[capacity * maxEntries];
        lengths = new int[capacity * maxEntries];
        lkeys = new int[capacity * maxEntries];
    }

    /** Returns the number of receives that no message has taken. */
    public int size() {
        return size;
    }

    public int capacity() {
        return capacity;
    }

    public int maxEntries() {
        return maxEntries;
    }

    /** Returns a queue of another capacity with the same receives; the capacity must not be below their number. */
    public ReceiveQueue resized(int newCapacity) {
        var other = new ReceiveQueue(device, pd, poster, newCapacity, maxEntries, occupied);
        if (posted != null) {
            other.posted = new Posted[newCapacity];
        }
        for (int i = 0; i < size; i++) {
            int from = (head + i) % capacity;
            other.ids[i] = ids[from];
            other.counts[i] = counts[from];
            if (other.posted != null && posted != null) {
                other.posted[i] = posted[from];
            }
            System.arraycopy(addresses, from * maxEntries, other.addresses, i * maxEntries, maxEntries);
            System.arraycopy(lengths, from * maxEntries, other.lengths, i * maxEntries, maxEntries);
            System.arraycopy(lkeys, from * maxEntries, other.lkeys, i * maxEntries, maxEntries);
        }
        other.size = size;
        return other;
    }

    /** Adds one {@code struct ibv_recv_wr}. Returns 0 or -errno. */
    int post(long workRequest) {
        long request = Memory.known(workRequest);
        int count = Memory.getInt(request + IbvRecvWr.NUM_SGE);
        if (count < 0 || count > maxEntries) {
            return -Errno.EINVAL;
        }
        if (occupied.count() == capacity) {
            return -Errno.ENOMEM;
        }
        int slot = head + size < capacity ? head + size : head + size - capacity;
        ids[slot] = Memory.getLong(request + IbvRecvWr.WR_ID);
        counts[slot] = count;
        long entry = Memory.known(Memory.getLong(request + IbvRecvWr.SG_LIST));
        for (int i = slot * maxEntries; i < slot * maxEntries + count; i++) {
            addresses[i] = Memory.getLong(entry + IbvSge.ADDR);
            lengths[i] = Memory.getInt(entry + IbvSge.LENGTH);
            lkeys[i] = Memory.getInt(entry + IbvSge.LKEY);
            entry += IbvSge.SIZE;
        }
        if (device.watch != null) {
            watch(device.watch, slot);
        }
        occupied.take();
        size++; // last: if the call before it overflows the stack, nothing was posted
        return 0;
    }

    /** Lets the diagnostics watch the memory of a receive until its completion is polled. */
    private void watch(Watch watch, int slot) {
        Posted request = watch.post(poster, ids[slot], IbvWcOpcode.IBV_WC_RECV, false, false, counts[slot]);
        for (int i = 0, at = slot * maxEntries; i < counts[slot]; i++, at++) {
            long bytes = Integer.toUnsignedLong(lengths[at]);
            device.keys.watch(request, i, lkeys[at], addresses[at], bytes, IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE, pd);
        }
        if (posted == null) {
            posted = new Posted[capacity];
        }
        posted[slot] = request;
    }

    /** Moves the oldest receive into {@code target}. */
    public void take(Receive target) {
        target.id = ids[head];
        target.count = counts[head];
        target.length = 0;
        if (posted != null) {
            target.posted = posted[head];
            posted[head] = null;
        }
        for (int i = 0, from = head * maxEntries; i < target.count; i++, from++) {
            target.addresses[i] = addresses[from];
            target.lengths[i] = lengths[from];
            target.lkeys[i] = lkeys[from];
            target.length += Integer.toUnsignedLong(lengths[from]);
        }
        head = head + 1 == capacity ? 0 : head + 1;
        size--;
    }

    /** Returns what {@link Mr#plain} gives for bytes of the oldest receive from its first byte on, in one entry. */
    public long plain(long bytes, KeyUser user) {
        int first = head * maxEntries;
        boolean fits = size > 0 && counts[head] > 0 && bytes <= Integer.toUnsignedLong(lengths[first]);
        return fits
                ? user.keys().plainLocal(lkeys[first], addresses[first], bytes, Receive.NEED, user)
                : MemoryKey.NONE;
    }

    /** Tells whether there is a receive, and the diagnostics have no records of receives. */
    public boolean hasPlain() {
        return size > 0 && posted == null;
    }

    /**
     * Returns the address for a message of some bytes if the oldest receive has one entry, with room for it and in
     * plain memory; {@link MemoryKey#NONE} if not. For a thread that is not alone in the engine.
     */
    public long peek(long bytes, KeyUser user) {
        int first = head * maxEntries;
        if (!hasPlain() || counts[head] != 1) {
            return MemoryKey.NONE;
        }
        long room = Integer.toUnsignedLong(lengths[first]);
        return bytes <= room
                ? user.keys().peekLocal(lkeys[first], addresses[first], room, Receive.NEED, user)
                : MemoryKey.NONE;
    }

    /** Takes the oldest receive for a message that is in its memory. Returns its id. */
    public long takeDirectly() {
        long id = ids[head];
        head = head + 1 == capacity ? 0 : head + 1;
        size--;
        return id;
    }

    public void clear() {
        head = 0;
        size = 0;
        occupied.clear();
    }

    /** A receive that was taken for an arriving message. */
    public static final class Receive {
        private static final int NEED = IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE;

        public long id;
        int count;
        /** The room of the receive in bytes. */
        public long length;
        final long[] addresses;
        final int[] lengths;
        final int[] lkeys;
        /** The diagnostics' record of the receive, if they are on. */
        public @Nullable Posted posted;

        public Receive(int maxEntries) {
            addresses = new long[maxEntries];
            lengths = new int[maxEntries];
            lkeys = new int[maxEntries];
        }

        /** Takes the entries of an array of {@code struct ibv_sge}. */
        void fill(long entry, int entries) {
            count = entries;
            length = 0;
            for (int i = 0; i < entries; i++) {
                addresses[i] = Memory.getLong(entry + (long) i * IbvSge.SIZE + IbvSge.ADDR);
                lengths[i] = Memory.getInt(entry + (long) i * IbvSge.SIZE + IbvSge.LENGTH);
                lkeys[i] = Memory.getInt(entry + (long) i * IbvSge.SIZE + IbvSge.LKEY);
                length += Integer.toUnsignedLong(lengths[i]);
            }
        }

        /** Becomes the same as another receive. */
        void copy(Receive from) {
            id = from.id;
            count = from.count;
            length = from.length;
            posted = from.posted;
            System.arraycopy(from.addresses, 0, addresses, 0, count);
            System.arraycopy(from.lengths, 0, lengths, 0, count);
            System.arraycopy(from.lkeys, 0, lkeys, 0, count);
        }

        /**
         * Tells whether the queue pair may write to all entries. A message can be shorter: this brings no pages in.
         */
        public boolean isWritable(KeyUser user) {
            for (int i = 0; i < count; i++) {
                long bytes = Integer.toUnsignedLong(lengths[i]);
                if (bytes != 0 && !user.keys().permitsLocal(lkeys[i], addresses[i], bytes, NEED, user)) {
                    return false;
                }
            }
            return true;
        }

        /** Does the other {@code write} for bytes that are not in place. */
        public boolean write(long offset, long from, long bytes, KeyUser user) {
            return write(offset, from, bytes, 0, user);
        }

        /**
         * Scatters bytes to the entries, at an offset of the message. The caller has checked that the bytes fit and
         * that {@link #isWritable} is true. Returns false if the memory has changed since.
         *
         * @param placed the address where all the bytes are already; 0 if they are nowhere
         */
        public boolean write(long offset, long from, long bytes, long placed, KeyUser user) {
            long all = bytes;
            long skip = offset;
            for (int i = 0; i < count && bytes > 0; i++) {
                long room = Integer.toUnsignedLong(lengths[i]);
                if (skip >= room) {
                    skip -= room;
                    continue;
                }
                long part = Math.min(bytes, room - skip);
                long to = translate(i, skip, part, user);
                if (to == MemoryKey.NONE) {
                    return false;
                }
                boolean isThere = to == MemoryKey.NOWHERE || to == placed && part == all;
                if (!isThere && (posted == null || !posted.store(i, skip, from, part))) {
                    Memory.copy(from, to, part);
                }
                from += part;
                bytes -= part;
                skip = 0;
            }
            return bytes == 0;
        }

        /** Returns what {@link Mr#plain} gives for bytes of the message from an offset on, in one entry. */
        public long plain(long offset, long bytes, KeyUser user) {
            long skip = offset;
            for (int i = 0; i < count; i++) {
                long room = Integer.toUnsignedLong(lengths[i]);
                if (skip < room) {
                    return bytes <= room - skip
                            ? user.keys().plainLocal(lkeys[i], addresses[i] + skip, bytes, NEED, user)
                            : MemoryKey.NONE;
                }
                skip -= room;
            }
            return MemoryKey.NONE;
        }

        private long translate(int entry, long skip, long bytes, KeyUser user) {
            return user.keys().translateLocal(lkeys[entry], addresses[entry] + skip, bytes, NEED, user);
        }
    }
}
