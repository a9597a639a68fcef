package org.kverbs.embedded.internal.transport;

import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.objects.TagMatcher;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvTmh;
import org.kverbs.internal.abi.IbvTmhOp;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;

/**
 * Finds the receive of a message to a queue with tag matching by the header at its start. Only messages with their
 * payload are matched: a rendezvous is unexpected, so that the program reads the payload.
 */
final class Tagging {

    private final TagMatcher matcher;
    private boolean isMatched;
    private int opcode = IbvWcOpcode.IBV_WC_RECV;
    private long tag;
    private int data;

    private Tagging(TagMatcher matcher) {
        this.matcher = matcher;
    }

    static @Nullable Tagging of(Qp qp) {
        TagMatcher matcher = TagMatcher.of(qp.srq);
        return matcher == null ? null : new Tagging(matcher);
    }

    /** Returns the bytes at the start of the message that no memory gets. */
    int header() {
        return isMatched ? IbvTmh.SIZE : 0;
    }

    /** Frees the slot of a receive that never completes. */
    void free(Qp qp) {
        (isMatched ? matcher.occupied : qp.receives.occupied).free(1);
    }

    /** Takes the receive for a message that begins with a packet. Returns false if there is none. */
    boolean take(Packet first, boolean isSend, ReceiveQueue.Receive receive, Qp qp) {
        isMatched = false;
        opcode = IbvWcOpcode.IBV_WC_RECV;
        tag = 0;
        data = 0;
        int operation = isSend && first.payloadLength > 0 ? Memory.getByte(first.payload + IbvTmh.OPCODE) : -1;
        boolean isTagged = first.payloadLength >= IbvTmh.SIZE
                && (operation == IbvTmhOp.IBV_TMH_EAGER || operation == IbvTmhOp.IBV_TMH_RNDV);
        if (isTagged) {
            tag = bigEndian(Memory.getLong(first.payload + IbvTmh.TAG));
            data = Qp.bigEndian(Memory.getInt(first.payload + IbvTmh.APP_CTX));
            isMatched = operation == IbvTmhOp.IBV_TMH_EAGER && matcher.take(tag, receive);
        }
        if (isMatched) {
            opcode = IbvWcOpcode.IBV_WC_TM_RECV;
            return true;
        }
        if (operation == IbvTmhOp.IBV_TMH_NO_TAG) {
            opcode = IbvWcOpcode.IBV_WC_TM_NO_TAG;
        }
        boolean taken = qp.receives.take(receive);
        if (taken && isTagged) {
            matcher.countUnexpected();
        }
        return taken;
    }

    private static long bigEndian(long number) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? number : Long.reverseBytes(number);
    }

    /** Completes the receive that was taken. {@code bytes} counts the header. */
    void complete(ReceiveQueue.Receive receive, int status, int kind, int bytes, int word, int flags,
            boolean solicited, Qp qp) {
        boolean isDone = status == IbvWcStatus.IBV_WC_SUCCESS;
        int more = isMatched && isDone ? IbvWcFlags.IBV_WC_TM_MATCH | IbvWcFlags.IBV_WC_TM_DATA_VALID : 0;
        qp.counted.received(isDone ? bytes - header() : bytes, !isDone);
        matcher.cq.nextHasTag(tag, data);
        matcher.complete(receive, isMatched, status, kind == IbvWcOpcode.IBV_WC_RECV ? opcode : kind,
                isDone ? bytes - header() : bytes, word, qp.number, qp.destinationQp, flags | more, solicited);
    }
}
