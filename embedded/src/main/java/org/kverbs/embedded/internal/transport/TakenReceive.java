package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.objects.Occupancy;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.objects.XrcSrq;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;

/**
 * The receive that the current message of a connected peer takes: of the queue pair, of the shared receive queue that a
 * request of XRC names, or of a list of tags.
 */
final class TakenReceive {

    private final Qp qp;
    final ReceiveQueue.Receive receive;
    private boolean isTaken;
    /** Finds the receives of a queue with tag matching; null for any other queue. */
    private final @Nullable Tagging tagging;
    /** The shared receive queue that the last request of XRC named; null for other transports. */
    private @Nullable XrcSrq named;
    /** The status with which a test lets the taken receive fail. The refusal may have to wait for earlier answers. */
    private int injected = IbvWcStatus.IBV_WC_SUCCESS;

    TakenReceive(Qp qp, int maxEntries) {
        this.qp = qp;
        this.tagging = Tagging.of(qp);
        this.receive = new ReceiveQueue.Receive(maxEntries);
    }

    /** Forgets the receive, which never completes, and the named queue. */
    void drop() {
        if (isTaken) {
            end();
            if (tagging != null) {
                tagging.free(qp);
            } else {
                occupied().free(1);
            }
        }
        named = null;
    }

    private Occupancy occupied() {
        return named == null ? qp.receives.occupied : named.srq.queue.occupied;
    }

    private void end() {
        isTaken = false;
        injected = IbvWcStatus.IBV_WC_SUCCESS;
    }

    /**
     * Notes the queue that a request of XRC names. Returns false if the message, or the receive of an abandoned one,
     * began with another queue.
     */
    boolean name(XrcSrq queue, boolean hasBegun) {
        if ((hasBegun || isTaken) && queue != named) {
            return false;
        }
        named = queue;
        return true;
    }

    /** Tells whether a receive was taken and is not done. */
    boolean isTaken() {
        return isTaken;
    }

    /** Returns whose memory the current request may touch. */
    KeyUser user() {
        return named == null ? qp : named;
    }

    /** Takes a receive for the message that begins with a packet. Returns false if there is none. */
    boolean take(Packet packet, boolean isSend) {
        if (isTaken) {
            return true; // the receive of an abandoned message
        }
        if (tagging != null) {
            isTaken = tagging.take(packet, isSend, receive, qp);
        } else {
            isTaken = named == null ? qp.receives.take(receive) : qp.receives.take(receive, named.srq);
        }
        return isTaken;
    }

    /**
     * Returns the native address of a part of the current message, or of the message that comes next, if it is plain
     * memory in one entry of a receive of the own queue; {@link MemoryKey#NONE} if not.
     */
    long plain(boolean hasBegun, long offset, long bytes) {
        if (qp.srq != null || named != null || hasBegun != isTaken) {
            return MemoryKey.NONE;
        }
        return hasBegun ? receive.plain(offset, bytes, qp) : qp.receives.own.plain(bytes, qp);
    }

    /** Tells whether a message that takes a receive of the own queue finds one. */
    boolean isThere() {
        return qp.srq == null && named == null && (isTaken || qp.receives.own.size() > 0);
    }

    /** Returns the bytes at the start of the message that no memory gets. */
    int header() {
        return tagging == null ? 0 : tagging.header();
    }

    /** Tells whether a test lets the receive fail. If the peer repeats the request, the answer is the same. */
    boolean isInjected(int opcode) {
        if (injected == IbvWcStatus.IBV_WC_SUCCESS) {
            injected = qp.hca.injected(opcode);
        }
        return injected != IbvWcStatus.IBV_WC_SUCCESS;
    }

    /** Returns the status with which a test lets the receive fail. */
    int injected() {
        return injected;
    }

    /** Completes the receive with an error, if one is taken. */
    void fail(int status) {
        complete(status, IbvWcOpcode.IBV_WC_RECV, 0, 0, 0, false);
    }

    /** Completes the receive, if one is taken. */
    void complete(int status, int opcode, int bytes, int word, int flags, boolean solicited) {
        if (isTaken) {
            end();
            if (tagging != null) {
                tagging.complete(receive, status, opcode, bytes, word, flags, solicited, qp);
            } else if (named == null) {
                qp.receives.complete(receive, status, opcode, bytes, word, qp.destinationQp, flags, solicited);
            } else {
                named.complete(receive.id, status, opcode, bytes, word, qp.number, qp.destinationQp, flags, solicited,
                        receive.posted);
            }
        }
    }
}
