package org.kverbs.embedded.internal.objects;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.watch.Posted;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvCq;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;
import org.kverbs.spi.CompletionQueueOps;

/**
 * A completion queue ({@code struct ibv_cq}): a ring of {@code struct ibv_wc}. If more completions come than it holds,
 * the queue breaks: the program can still poll the completions inside, then polls fail, and the queue pairs go to the
 * error state (IBA volume 1, 11.6.3.1). With the semantics of rxe, and if the queue was made to ignore an overrun, the
 * queue goes on and loses the completions that had no room.
 */
public final class Cq implements CompletionQueueOps {

    /** The first bit of the vendor error within a status; see {@link #add}. */
    static final int VENDOR_ERROR = 16;

    private static final VarHandle WAITING = handle();

    public final long address;
    public final @Nullable Channel<Cq> channel;
    /** The queue pairs and the shared receive queues of XRC that use this queue. */
    public final Set<CompletionUser> users = new LinkedHashSet<>();
    private final DeviceState device;
    private final AsyncEvents events;
    private final Engine engine;
    private MemorySegment ring = MemorySegment.NULL;
    private long ringAddress;
    private int capacity;
    private int head;
    /** The number of completions in the ring; written with the lock held, read by polling threads without it. */
    private int waiting;
    /** The diagnostics' records of the completed requests; null if the diagnostics were never on. */
    private @Nullable Posted @Nullable [] posted;
    /** For each completion, the queue that its request was in. */
    private @Nullable Occupancy[] occupied = {};
    /** For each completion, the number of slots in that queue that a poll frees. */
    private int[] slots = {};
    /** What the queue was made with by {@code ibv_create_cq_ex}. */
    public final CqOptions options;
    /** What {@link #nextHasTag} was given. */
    private long nextTag;
    private int nextData;
    /** The timestamps of the completions; null if the queue was made without. */
    private @Nullable CqExtras extras;

    private boolean overrun;
    /** How many completions an event waits for; 0 if for none. */
    private int moderation;
    private long periodNanos;
    /** How many completions wait for an event that was asked for. */
    private int unannounced;

    private boolean armed;
    private boolean armedSolicited;

    private final Event periodOver = new Event() {
        @Override
        protected void happen() {
            if (unannounced > 0) {
                announce();
            }
        }
    };

    private final Task breakQueuePairs = new Task() {
        @Override
        protected void run() {
            for (CompletionUser user : users) {
                try {
                    user.completionsLost();
                } catch (Throwable e) {
                    engine.report(e); // the next queue pair has lost completions, too
                }
            }
        }
    };

    public Cq(DeviceState device, AsyncEvents events, long address, int entries, @Nullable Channel<Cq> channel,
            CqOptions options) {
        this.options = options;
        this.device = device;
        this.events = events;
        this.address = address;
        this.channel = channel;
        this.engine = device.engine;
        this.extras = options.isStamped() ? new CqExtras(engine, entries) : null;
        allocate(entries);
    }

    private static VarHandle handle() {
        try {
            return MethodHandles.lookup().findVarHandle(Cq.class, "waiting", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private void allocate(int entries) {
        // The garbage collector frees the ring: a thread that still polls after close() reads old memory, but never
        // unmapped memory.
        MemorySegment memory = Arena.ofAuto().allocate((long) entries * IbvWc.SIZE, 8);
        @Nullable Occupancy[] queues = new Occupancy[entries];
        int[] counts = new int[entries];
        // The fields change only after all allocations succeeded: a queue that can't be resized stays as it is.
        ring = memory;
        ringAddress = memory.address();
        capacity = entries;
        occupied = queues;
        slots = counts;
        Memory.putInt(address + IbvCq.CQE, entries);
    }

    int capacity() {
        return capacity;
    }

    /** Changes the size. Refuses a size below the number of waiting completions. */
    public int resize(int entries) {
        if (entries < waiting) {
            return -Errno.EINVAL;
        }
        MemorySegment old = ring;
        int oldHead = head;
        int oldCapacity = capacity;
        @Nullable Posted[] oldPosted = posted;
        @Nullable Occupancy[] oldOccupied = occupied;
        int[] oldSlots = slots;
        @Nullable Posted[] requests = oldPosted == null ? null : new Posted[entries];
        CqExtras moved = extras == null ? null : extras.resized(entries, head, waiting, capacity);
        allocate(entries);
        extras = moved;
        for (int i = 0; i < waiting; i++) {
            int from = (oldHead + i) % oldCapacity;
            MemorySegment.copy(old, (long) from * IbvWc.SIZE, ring, (long) i * IbvWc.SIZE, IbvWc.SIZE);
            occupied[i] = oldOccupied[from];
            slots[i] = oldSlots[from];
            if (requests != null && oldPosted != null) {
                requests[i] = oldPosted[from];
            }
        }
        posted = requests;
        head = 0;
        return 0;
    }

    /** Gives the next completion the tag and the sender's 32 bits of a message. */
    public void nextHasTag(long tag, int data) {
        nextTag = tag;
        nextData = data;
    }

    /**
     * Adds a completion. The fields are those of {@code struct ibv_wc}, with the vendor error in the upper half of
     * {@code status}. {@code immediate} becomes imm_data or invalidated_rkey and is in its final byte order. {@code
     * queue} holds the request's slot; {@code request} is the diagnostics' record of the request.
     */
    public void add(long id, int status, int opcode, int bytes, int immediate, int qpn, int sourceQp, int flags,
            boolean solicited,
            Occupancy queue, @Nullable Posted request) {
        int frees = queue.done();
        if (waiting == capacity) {
            nextTag = 0;
            nextData = 0;
            overrun();
            queue.lost(frees);
            if (request != null) {
                request.release();
            }
            return;
        }
        int at = slot(waiting);
        if (request != null && posted == null) {
            posted = new Posted[capacity];
        }
        if (posted != null) {
            posted[at] = request;
        }
        occupied[at] = queue;
        slots[at] = frees;
        long wc = Memory.known(ringAddress + (long) at * IbvWc.SIZE);
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
        }
        nextTag = 0;
        nextData = 0;
        WAITING.setRelease(this, waiting + 1);
        engine.advanced();
        if (armed && (!armedSolicited || solicited || status != IbvWcStatus.IBV_WC_SUCCESS)) {
            moderated();
        }
    }

    /** Announces a completion that an event was asked for, at once or together with others. */
    private void moderated() {
        unannounced++;
        if (unannounced >= moderation) {
            announce();
        } else if (unannounced == 1) {
            engine.schedule(periodOver, periodNanos);
        }
    }

    private void announce() {
        engine.cancel(periodOver);
        unannounced = 0;
        armed = false;
        if (channel != null) {
            channel.add(this);
        }
    }

    /**
     * Sets how many completions an event waits for, and for how many microseconds. Without one of the two nothing
     * waits, and what waited is announced.
     */
    public void moderate(int count, int micros) {
        moderation = micros == 0 ? 0 : count;
        periodNanos = micros * 1000L;
        if (unannounced > 0) {
            if (unannounced >= moderation) {
                announce();
            } else {
                engine.schedule(periodOver, periodNanos);
            }
        }
    }

    /** Ends the timer of the moderation; what waits is never announced. */
    public void stop() {
        engine.cancel(periodOver);
    }

    private int slot(int i) {
        int at = head + i;
        return at < capacity ? at : at - capacity;
    }

    private void overrun() {
        if (options.ignoresOverrun()) {
            return;
        }
        if (device.semantics == Semantics.RXE) {
            events.raise(IbvEventType.IBV_EVENT_CQ_ERR, address);
        } else if (!overrun) {
            overrun = true;
            events.raise(IbvEventType.IBV_EVENT_CQ_ERR, address);
            // Not at once: a queue pair is in the middle of the work that completed.
            engine.ready(breakQueuePairs);
        }
    }

    /** Removes the completions of a queue pair that is destroyed or reset (IBA volume 1, 11.2.5.4). */
    public void forget(int qpn) {
        int kept = 0;
        for (int i = 0; i < waiting; i++) {
            long from = ringAddress + (long) slot(i) * IbvWc.SIZE;
            if (Memory.getInt(from + IbvWc.QP_NUM) != qpn) {
                long to = ringAddress + (long) slot(kept) * IbvWc.SIZE;
                if (to != from) {
                    Memory.copy(from, to, IbvWc.SIZE);
                    occupied[slot(kept)] = occupied[slot(i)];
                    slots[slot(kept)] = slots[slot(i)];
                    if (posted != null) {
                        posted[slot(kept)] = posted[slot(i)];
                    }
                    if (extras != null) {
                        extras.move(slot(i), slot(kept));
                    }
                }
                kept++;
            } else {
                freeSlots(slot(i));
            }
        }
        WAITING.setRelease(this, kept);
    }

    @Override
    public int poll(int count, long completions) {
        return poll(count, completions, 0);
    }

    @Override
    public int poll(int count, long completions, long extrasTo) {
        if ((int) WAITING.getAcquire(this) == 0 && !overrun && device.failures == null && !engine.isVirtual()) {
            device.link.look(armed);
            if ((int) WAITING.getAcquire(this) == 0 && !engine.isWorkLeft()) {
                return 0;
            }
        }
        engine.enter();
        try {
            int refusal = device.refuse(Operation.POLL);
            if (refusal < 0) {
                return refusal;
            }
            if (waiting == 0) {
                engine.polledInVain();
            }
            if (waiting == 0) {
                return overrun ? -Errno.EOVERFLOW : 0;
            }
            int taken = Math.min(count, waiting);
            for (int i = 0; i < taken; i++) {
                copy(ringAddress + (long) head * IbvWc.SIZE, completions + (long) i * IbvWc.SIZE);
                if (extras != null && extrasTo != 0) {
                    extras.copy(head, extrasTo + (long) i * CompletionExtras.SIZE);
                }
                freeSlots(head);
                if (posted != null) {
                    polled(posted);
                }
                head = head + 1 == capacity ? 0 : head + 1;
            }
            WAITING.setRelease(this, waiting - taken);
            return taken;
        } finally {
            engine.leave();
        }
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
            queue.free(slots[at]);
        }
    }

    /** Gives the memory of the request at the head back to the program. */
    private void polled(@Nullable Posted[] requests) {
        Posted request = requests[head];
        requests[head] = null;
        if (request != null) {
            request.release();
        }
    }

    @Override
    public int requestNotify(boolean solicitedOnly) {
        engine.enter();
        try {
            int refusal = device.refuse(Operation.REQUEST_NOTIFICATION);
            if (refusal < 0) {
                return refusal;
            }
            // A later request does not narrow an earlier, wider one (man 3 ibv_req_notify_cq).
            armedSolicited = solicitedOnly && (!armed || armedSolicited);
            armed = true;
        } finally {
            engine.leave();
        }
        if (!engine.isVirtual()) {
            device.link.look(true);
        }
        return 0;
    }
}
