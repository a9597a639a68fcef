package org.kverbs.embedded.internal.transport;

import java.util.zip.CRC32;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.CompletionUser;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.Keys;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.embedded.internal.wire.FrameHeaders;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWq;
import org.kverbs.internal.abi.IbvWqFlags;
import org.kverbs.internal.abi.IbvWqState;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ReceiveOps;

/** A work queue ({@code struct ibv_wq}). Guarded by the engine's lock. */
public final class Wq implements ReceiveOps, KeyUser, CompletionUser {

    private static final int FCS = 4;

    private final Hca hca;
    private final AsyncEvents events;
    public final long address;
    /** Its completions have it in place of a queue pair's number. */
    public final int number;

    public final Cq cq;
    private final Pd pd;
    private final Poster poster;
    private final ReceiveQueue queue;
    private final FrameReceiver receiver;
    private int state = IbvWqState.IBV_WQS_RESET;
    /** A mask of {@code enum ibv_wq_flags}. */
    private int flags;
    /** The number of entries of indirection tables that have the queue. */
    public int users;

    public Wq(Hca hca, AsyncEvents events, long address, Pd pd, Cq cq, int capacity, int maxEntries, int flags) {
        this.hca = hca;
        this.events = events;
        this.address = address;
        this.number = hca.freshQueuePairNumber();
        this.pd = pd;
        this.cq = cq;
        this.flags = flags;
        this.poster = new Poster(hca.name, 0);
        this.queue = new ReceiveQueue(hca, pd, poster, capacity, maxEntries, false);
        this.receiver = new Receiver(maxEntries);
    }

    public int state() {
        return state;
    }

    /** Sets the flags in the mask. */
    public void flags(int mask, int values) {
        flags = flags & ~mask | values & mask;
    }

    /** Goes to a state of {@code enum ibv_wq_state}, if a step leads there. Returns 0 or -errno. */
    public int enter(int next) {
        boolean isStep = switch (next) {
            case IbvWqState.IBV_WQS_RESET -> true;
            case IbvWqState.IBV_WQS_RDY -> state != IbvWqState.IBV_WQS_ERR;
            case IbvWqState.IBV_WQS_ERR -> state != IbvWqState.IBV_WQS_RESET;
            default -> false;
        };
        if (!isStep) {
            return -Errno.EINVAL;
        }
        if (next == IbvWqState.IBV_WQS_RESET) {
            reset();
        }
        setState(next);
        flush();
        return 0;
    }

    private void setState(int next) {
        state = next;
        Memory.putInt(address + IbvWq.STATE, next);
    }

    /** Forgets the receives and their completions; called also before the queue is destroyed. */
    public void reset() {
        receiver.drop();
        cq.forget(number);
        queue.clear();
        if (hca.watch != null) {
            hca.watch.forget(poster);
        }
    }

    /** Goes to the error state after a failure, and tells the program. */
    private void fail() {
        if (state == IbvWqState.IBV_WQS_RDY) {
            events.raise(IbvEventType.IBV_EVENT_WQ_FATAL, address);
            toError();
        }
    }

    /** Goes to the error state, and flushes the receives. */
    void toError() {
        if (state == IbvWqState.IBV_WQS_RDY) {
            setState(IbvWqState.IBV_WQS_ERR);
            flush();
        }
    }

    private void flush() {
        if (state == IbvWqState.IBV_WQS_ERR) {
            receiver.flushAll();
        }
    }

    /** Takes a frame. An exception ends this queue alone. */
    void take(long frame, int length, Counters counters) {
        try {
            if (state == IbvWqState.IBV_WQS_RDY) {
                receiver.take(frame, length, counters);
            }
        } catch (Throwable e) {
            fail();
            hca.engine.report(e);
        }
    }

    private boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Returns the frame check sequence (IEEE 802.3, 3.2.9), whose lowest byte comes first. */
    private static int checkSequence(long frame, int length) {
        var sum = new CRC32();
        sum.update(Memory.at(frame, length).asByteBuffer());
        return (int) sum.getValue();
    }

    @Override
    public int postReceive(long workRequests, long badWorkRequest) {
        hca.engine.enter();
        try {
            int refusal = hca.refuse(Operation.POST_RECEIVE);
            if (refusal < 0) {
                Memory.putLong(badWorkRequest, workRequests);
                return refusal;
            }
            if (state == IbvWqState.IBV_WQS_RESET) {
                return Srq.refuse(workRequests, badWorkRequest);
            }
            int result = Srq.postAll(queue, workRequests, badWorkRequest);
            flush();
            return result;
        } finally {
            hca.engine.leave();
        }
    }

    /** Puts frames into the receives of this queue, without tags or with check sequences if the flags say so. */
    private final class Receiver extends FrameReceiver {

        Receiver(int maxEntries) {
            super(hca, Wq.this, maxEntries);
        }

        @Override
        boolean next(ReceiveQueue.Receive target) {
            if (queue.size() == 0) {
                return false;
            }
            queue.take(target);
            return true;
        }

        @Override
        void add(ReceiveQueue.Receive done, int status, int bytes) {
            cq.add(done.id, status, IbvWcOpcode.IBV_WC_RECV, bytes, 0, number, 0, 0, false, queue.occupied,
                    done.posted);
        }

        @Override
        void fail() {
            Wq.this.fail();
        }

        @Override
        int written(long frame, int length) {
            return length - tag(frame, length) + check();
        }

        private int tag(long frame, int length) {
            return has(IbvWqFlags.IBV_WQ_FLAGS_CVLAN_STRIPPING) ? FrameHeaders.customerTag(frame, length) : 0;
        }

        private int check() {
            return has(IbvWqFlags.IBV_WQ_FLAGS_SCATTER_FCS) ? FCS : 0;
        }

        @Override
        boolean write(ReceiveQueue.Receive to, long frame, int length) {
            int tag = tag(frame, length);
            int check = check();
            if (check != 0) {
                int sequence = Integer.reverseBytes(checkSequence(frame, length));
                Memory.putInt(hca.scratch.address(), Qp.bigEndian(sequence));
            }
            int before = tag == 0 ? 0 : FrameHeaders.ADDRESSES;
            int rest = length - tag - before;
            return (before == 0 || to.write(0, frame, before, Wq.this))
                    && to.write(before, frame + before + tag, rest, Wq.this)
                    && (check == 0 || to.write(length - tag, hca.scratch.address(), check, Wq.this));
        }
    }

    @Override
    public Pd pd() {
        return pd;
    }

    @Override
    public Keys keys() {
        return hca.keys;
    }

    @Override
    public void touchesFile() {
        hca.engine.touchesFile();
    }

    @Override
    public void pagesMissed(long pages) {
        hca.counters.count(Counter.PAGE_FAULTS, pages);
    }

    @Override
    public void memoryFreed(long at, long bytes, int need) {
        hca.tellFreed(at, bytes, need, 0);
    }

    @Override
    public void completionsLost() {
        fail();
    }
}
