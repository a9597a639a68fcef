package org.kverbs.embedded.internal.objects;

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
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionQueueOps;

/**
 * A completion queue ({@code struct ibv_cq}). Its completions wait in a {@link CompletionRing}, from which a poll takes
 * them without the engine's lock. If more completions come than it holds,
 * the queue breaks: the program can still poll the completions inside, then polls fail, and the queue pairs go to the
 * error state (IBA volume 1, 11.6.3.1). With the semantics of rxe, and if the queue was made to ignore an overrun, the
 * queue goes on and loses the completions that had no room.
 */
public final class Cq implements CompletionQueueOps {

    /** The first bit of the vendor error within a status; see {@link #add}. */
    static final int VENDOR_ERROR = CompletionRing.VENDOR_ERROR;

    private static final VarHandle RESERVED = handle();

    public final long address;
    public final @Nullable Channel<Cq> channel;
    /** The queue pairs and the shared receive queues of XRC that use this queue. */
    public final Set<CompletionUser> users = new LinkedHashSet<>();
    private final DeviceState device;
    private final AsyncEvents events;
    private final Engine engine;
    private final CompletionRing ring;
    /** What the queue was made with by {@code ibv_create_cq_ex}. */
    public final CqOptions options;
    /** 1 while a thread without the engine's lock adds completions. */
    @SuppressWarnings("UnusedVariable") // read by its handle
    private int reserved;

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
        this.ring = new CompletionRing(entries, options.isStamped() ? new CqExtras(engine, entries) : null);
        Memory.putInt(address + IbvCq.CQE, entries);
    }

    private static VarHandle handle() {
        try {
            return MethodHandles.lookup().findVarHandle(Cq.class, "reserved", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Changes the size. Refuses a size below the number of waiting completions. */
    public int resize(int entries) {
        if (!ring.resize(entries)) {
            return -Errno.EINVAL;
        }
        Memory.putInt(address + IbvCq.CQE, entries);
        return 0;
    }

    /** Gives the next completion the tag and the sender's 32 bits of a message. */
    public void nextHasTag(long tag, int data) {
        ring.nextHasTag(tag, data);
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
        if (ring.waiting() == ring.capacity()) {
            ring.skip();
            overrun();
            queue.lost(frees);
            if (request != null) {
                request.release();
            }
            return;
        }
        ring.add(id, status, opcode, bytes, immediate, qpn, sourceQp, flags, queue, frees, request);
        engine.advanced();
        if (armed && (!armedSolicited || solicited || status != IbvWcStatus.IBV_WC_SUCCESS)) {
            moderated();
        }
    }

    /**
     * Lets a thread that is in the engine without its lock add completions, as far as {@link #admits} says. Returns
     * false if another thread adds some. The thread calls {@link #release} then.
     */
    public boolean reserve() {
        return (int) RESERVED.getOpaque(this) == 0 && RESERVED.compareAndSet(this, 0, 1);
    }

    /**
     * Tells the thread that has reserved the queue whether it may add so many completions: there is room, and nothing
     * follows from them but that they are there, as no event was asked for.
     */
    public boolean admits(int completions) {
        return !armed && !overrun && ring.isPlain(completions);
    }

    /** Ends what {@link #reserve} began. */
    public void release() {
        RESERVED.setRelease(this, 0);
    }

    /** Ends a reservation that an exception left; called with the engine's lock held, so that no thread has one. */
    public void free() {
        reserved = 0;
    }

    /** Adds a successful completion to the queue, which the caller has reserved; see {@link #add}. */
    public void addReserved(long id, int opcode, int bytes, int immediate, int qpn, int sourceQp, int flags,
            Occupancy queue) {
        ring.add(id, IbvWcStatus.IBV_WC_SUCCESS, opcode, bytes, immediate, qpn, sourceQp, flags, queue, queue.done(),
                null);
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
        ring.forget(qpn);
    }

    @Override
    public int poll(int count, long completions) {
        return poll(count, completions, 0);
    }

    @Override
    public int poll(int count, long completions, long extrasTo) {
        if (device.failures == null && !engine.isVirtual()) {
            if (ring.waiting() > 0) {
                int taken = ring.take(count, completions, extrasTo, false);
                if (taken > 0) {
                    return taken;
                }
            } else if (!overrun) {
                device.link.look(armed);
                if (ring.waiting() == 0 && !engine.isWorkLeft()) {
                    return 0;
                }
            }
        }
        return pollLocked(count, completions, extrasTo);
    }

    /** Polls with the lock held, if there may be more to do than to take completions. */
    private int pollLocked(int count, long completions, long extrasTo) {
        engine.enter();
        try {
            int refusal = device.refuse(Operation.POLL);
            if (refusal < 0) {
                return refusal;
            }
            if (ring.waiting() == 0) {
                engine.polledInVain();
            }
            int taken = ring.take(count, completions, extrasTo, true);
            return taken == 0 && overrun && ring.waiting() == 0 ? -Errno.EOVERFLOW : taken;
        } finally {
            engine.leave();
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
