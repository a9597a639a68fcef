package org.kverbs.embedded.internal.objects;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.watch.Posted;
import org.kverbs.internal.Guard;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;

/**
 * The completions of a queue that no poll has taken: a ring of {@code struct ibv_wc}. The device adds completions with
 * the engine's lock held. A poll takes them without that lock: it enters the ring's guard, which only keeps out other
 * polls, and calls that move completions. So a thread that polls waits for no other thread's messages.
 *
 * <p>All methods but {@link #waiting} and {@link #take} are called with the engine's lock held; {@link #isPlain} and
 * {@link #add} also by a thread that has {@linkplain Cq#reserve reserved} the queue, while no thread has the lock. A
 * thread that holds the lock may wait for the guard; inside the guard no thread waits for the lock.
 */
final class CompletionRing {

    /** The first bit of the vendor error within a status; see {@link Cq#add}. */
    static final int VENDOR_ERROR = 16;

    private static final VarHandle ADDED = handle("added");
    private static final VarHandle TAKEN = handle("taken");

    private final Guard guard = new Guard();
    private MemorySegment memory = MemorySegment.NULL;
    private long address;
    private int capacity;
    /** The place of the next completion to take, and that of the next one to add. */
    private int head;

    private int tail;
    /** The numbers of completions that were ever added and taken; both wrap. */
    private int added;

    private int taken;
    /** The diagnostics' records of the completed requests; null if the diagnostics were never on. */
    private @Nullable Posted @Nullable [] posted;
    /** For each completion, the queue that its request was in. */
    private @Nullable Occupancy[] occupied = {};
    /** For each completion, the number of slots in that queue that a poll frees. */
    private int[] slots = {};
    /** The timestamps of the completions; null if the queue was made without. */
    private @Nullable CqExtras extras;
    /** What {@link #nextHasTag} was given. */
    private long nextTag;

    private int nextData;

    CompletionRing(int entries, @Nullable CqExtras extras) {
        this.extras = extras;
        allocate(entries);
    }

    private static VarHandle handle(String field) {
        try {
            return MethodHandles.lookup().findVarHandle(CompletionRing.class, field, int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private void allocate(int entries) {
        // The garbage collector frees the ring: a thread that still polls after close() reads old memory, but never
        // unmapped memory.
        MemorySegment fresh = Arena.ofAuto().allocate((long) entries * IbvWc.SIZE, 8);
        @Nullable Occupancy[] queues = new Occupancy[entries];
        int[] counts = new int[entries];
        // The fields change only after all allocations succeeded: a queue that can't be resized stays as it is.
        memory = fresh;
        address = fresh.address();
        capacity = entries;
        occupied = queues;
        slots = counts;
    }

    int capacity() {
        return capacity;
    }

    /** Returns the number of completions that wait; callable without the lock. */
    int waiting() {
        int before = (int) TAKEN.getAcquire(this); // first, so that the difference is never below zero
        return (int) ADDED.getAcquire(this) - before;
    }

    /** Gives the next completion the tag and the sender's 32 bits of a message. */
    void nextHasTag(long tag, int data) {
        nextTag = tag;
        nextData = data;
    }

    /** Tells whether there is room for so many completions, and they have neither timestamps nor records. */
    boolean isPlain(int more) {
        return posted == null && extras == null && waiting() <= capacity - more;
    }

    /** Forgets what {@link #nextHasTag} was given: the completion is lost. */
    void skip() {
        nextTag = 0;
        nextData = 0;
    }

    /** Adds a completion, for which there must be room; see {@link Cq#add}. */
    void add(long id, int status, int opcode, int bytes, int immediate, int qpn, int sourceQp, int flags,
            Occupancy queue, int frees, @Nullable Posted request) {
        int at = tail;
        if (request != null && posted == null) {
            posted = new Posted[capacity];
        }
        if (posted != null) {
            posted[at] = request;
        }
        if (occupied[at] != queue) { // a store would cost a GC write barrier each time
            occupied[at] = queue;
        }
        slots[at] = frees;
        long wc = Memory.known(address + (long) at * IbvWc.SIZE);
        Memory.putLong(wc + IbvWc.WR_ID, id);
        Memory.putInt(wc + IbvWc.STATUS, status & (1 << VENDOR_ERROR) - 1);
        Memory.putInt(wc + IbvWc.OPCODE, opcode);
        Memory.putInt(wc + IbvWc.VENDOR_ERR, status >>> VENDOR_ERROR);
        Memory.putInt(wc + IbvWc.BYTE_LEN, bytes);
        Memory.putInt(wc + IbvWc.IMM_DATA, immediate);
        Memory.putInt(wc + IbvWc.QP_NUM, qpn);
        Memory.putInt(wc + IbvWc.SRC_QP, sourceQp);
        Memory.putInt(wc + IbvWc.WC_FLAGS, flags);
        Memory.putLong(wc + IbvWc.PKEY_INDEX, 0); // together with slid, sl and dlid_path_bits, which RoCE does not have
        if (extras != null) {
            extras.stamp(at, nextTag, nextData);
            skip();
        }
        ADDED.setRelease(this, added + 1);
        tail = at + 1 == capacity ? 0 : at + 1; // last: if the call before it overflows the stack, nothing was added
    }

    /**
     * Takes up to {@code count} completions; callable without the lock.
     *
     * @param isLocked whether the caller holds the lock. Without it, takes none if the diagnostics have a record of one
     */
    int take(int count, long to, long extrasTo, boolean isLocked) {
        enter();
        try {
            int number = Math.min(count, waiting());
            @Nullable Posted[] requests = posted; // after the number: the record of a completion is there before it
            if (requests != null && !isLocked) {
                return 0;
            }
            for (int i = 0; i < number; i++) {
                copy(place(head), to + (long) i * IbvWc.SIZE);
                if (extras != null && extrasTo != 0) {
                    extras.copy(head, extrasTo + (long) i * CompletionExtras.SIZE);
                }
                Occupancy queue = occupied[head];
                int frees = slots[head];
                if (requests != null) {
                    release(requests);
                }
                head = head + 1 == capacity ? 0 : head + 1;
                TAKEN.setRelease(this, taken + 1);
                if (queue != null) {
                    queue.polled(frees);
                }
            }
            return number;
        } finally {
            guard.exit();
        }
    }

    private void enter() {
        if (!guard.enter()) {
            throw new IllegalStateException("the guard of a completion ring was closed, which nothing does");
        }
    }

    private long place(int slot) {
        return address + (long) slot * IbvWc.SIZE;
    }

    /** Copies a {@code struct ibv_wc}; the loop is short enough for the JIT to unroll it. */
    private static void copy(long from, long to) {
        long source = Memory.known(from);
        long target = Memory.known(to);
        for (int i = 0; i < IbvWc.SIZE; i += Long.BYTES) {
            Memory.putLong(target + i, Memory.getLong(source + i));
        }
    }

    /** Frees the slots of the requests that a polled completion proves to be done. */
    private void freeSlots(int at) {
        Occupancy queue = occupied[at];
        if (queue != null) {
            queue.polled(slots[at]);
        }
    }

    /** Gives the memory of the request at the head back to the program. */
    private void release(@Nullable Posted[] requests) {
        Posted request = requests[head];
        requests[head] = null;
        if (request != null) {
            request.release();
        }
    }

    /** Removes the completions of a queue pair. */
    void forget(int qpn) {
        enter();
        try {
            int number = waiting();
            int kept = 0;
            for (int i = 0; i < number; i++) {
                int from = slot(i);
                if (Memory.getInt(place(from) + IbvWc.QP_NUM) != qpn) {
                    move(from, slot(kept++));
                } else {
                    freeSlots(from);
                }
            }
            tail = slot(kept);
            ADDED.setRelease(this, taken + kept);
        } finally {
            guard.exit();
        }
    }

    private int slot(int i) {
        int at = head + i;
        return at < capacity ? at : at - capacity;
    }

    private void move(int from, int to) {
        if (from == to) {
            return;
        }
        copy(place(from), place(to));
        occupied[to] = occupied[from];
        slots[to] = slots[from];
        if (posted != null) {
            posted[to] = posted[from];
        }
        if (extras != null) {
            extras.move(from, to);
        }
    }

    /** Changes the capacity. Returns false if more completions wait. */
    boolean resize(int entries) {
        enter();
        try {
            int number = waiting();
            if (entries < number) {
                return false;
            }
            MemorySegment old = memory;
            int oldHead = head;
            int oldCapacity = capacity;
            @Nullable Posted[] oldPosted = posted;
            @Nullable Occupancy[] oldOccupied = occupied;
            int[] oldSlots = slots;
            @Nullable Posted[] requests = oldPosted == null ? null : new Posted[entries];
            CqExtras moved = extras == null ? null : extras.resized(entries, head, number, capacity);
            allocate(entries);
            extras = moved;
            for (int i = 0; i < number; i++) {
                int from = (oldHead + i) % oldCapacity;
                MemorySegment.copy(old, (long) from * IbvWc.SIZE, memory, (long) i * IbvWc.SIZE, IbvWc.SIZE);
                occupied[i] = oldOccupied[from];
                slots[i] = oldSlots[from];
                if (requests != null && oldPosted != null) {
                    requests[i] = oldPosted[from];
                }
            }
            posted = requests;
            head = 0;
            tail = number == entries ? 0 : number;
            return true;
        } finally {
            guard.exit();
        }
    }
}
