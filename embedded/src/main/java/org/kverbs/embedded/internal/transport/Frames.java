package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.wire.FrameHeaders;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;

/** Sends and receives the Ethernet frames of a raw packet queue pair. */
final class Frames {

    private final Qp qp;
    final OneWaySends sends;
    private final FrameReceiver receiver;
    /** Holds a frame on its way, so that the sender's memory is not touched in the name of a receiver. */
    private final MemorySegment staging = Arena.ofAuto().allocate(Limits.FRAME, 8);

    /** The number of the last frame that was taken, as {@link Steering} counts them. */
    private long last;

    Frames(Qp qp, int maxEntries) {
        this.qp = qp;
        this.sends = new OneWaySends(qp, this::send);
        this.receiver = new FrameReceiver(qp.hca, qp, maxEntries) {
            @Override
            boolean next(ReceiveQueue.Receive target) {
                return qp.receives.take(target);
            }

            @Override
            void add(ReceiveQueue.Receive done, int status, int bytes) {
                qp.receives.complete(done, status, IbvWcOpcode.IBV_WC_RECV, bytes, 0, 0, 0, false);
            }

            @Override
            void fail() {
                qp.toError();
            }
        };
    }

    /** Returns to the initial state. */
    void reset() {
        if (receiver.drop()) {
            qp.receives.occupied.free(1);
        }
    }

    /** Completes a receive that an exception left behind when the queue pair goes to the error state. */
    void flush() {
        receiver.flush();
    }

    private int send(SendWqe wqe) {
        if (wqe.isSegmented()) {
            return sendSegment(wqe, Objects.requireNonNull(wqe.segments));
        }
        if (wqe.length < FrameHeaders.ETHERNET || wqe.length > Limits.FRAME) {
            return IbvWcStatus.IBV_WC_LOC_LEN_ERR;
        }
        long frame = staging.address();
        long place = wqe.contiguous(0, wqe.length, qp);
        if (place != MemoryKey.NONE) {
            Memory.copy(place, frame, wqe.length);
        } else if (!wqe.copy(0, frame, wqe.length, qp)) {
            return IbvWcStatus.IBV_WC_LOC_PROT_ERR;
        }
        qp.hca.engine.touched();
        send((int) wqe.length);
        return IbvWcStatus.IBV_WC_SUCCESS;
    }

    private int sendSegment(SendWqe wqe, Segments segments) {
        int length = segments.nextLength(wqe);
        if (length > Limits.FRAME) {
            return IbvWcStatus.IBV_WC_LOC_LEN_ERR;
        }
        if (!segments.writeNext(wqe, staging.address(), qp)) {
            return IbvWcStatus.IBV_WC_LOC_PROT_ERR;
        }
        send(length);
        return IbvWcStatus.IBV_WC_SUCCESS;
    }

    /** Sends the frame in {@link #staging}. */
    private void send(int length) {
        qp.counters.count(Counter.SENT_PKTS);
        qp.counters.count(Counter.SENT_BYTES, length);
        qp.pacer.sends(length);
        qp.hca.link.sendFrame(staging.address(), length, qp.number);
    }

    /** Takes a frame; see {@link FrameReceiver#take}. */
    void take(long frame, int length, long number) {
        if (number != last) {
            last = number;
            receiver.take(frame, length, qp.counters);
        }
    }
}
