package org.kverbs.embedded.internal.transport;

import java.lang.invoke.VarHandle;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.memory.Memory;

/** Carries out the atomic writes and the flushes of the peer of a reliable queue pair (IBA volume 1, annex A19). */
final class Placements {

    /** The result of {@link #check} for a request that is permitted. */
    private static final int FINE = -1;

    private final Qp qp;

    Placements(Qp qp) {
        this.qp = qp;
    }

    /** Returns the NAK code for a request that is not permitted, or below zero. */
    int check(Packet request) {
        return request.opcode == Opcode.RC_FLUSH ? checkFlush(request) : checkAtomicWrite(request);
    }

    private int checkAtomicWrite(Packet request) {
        if ((qp.access & IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE) == 0
                || qp.maxDestReadAtomic == 0
                || request.payloadLength != Long.BYTES
                || request.dmaLength != Long.BYTES
                || (request.remoteAddress & 7) != 0) {
            return Nak.INVALID_REQUEST;
        }
        long target = target(request);
        return target == MemoryKey.NONE || (target & 7) != 0 ? Nak.REMOTE_ACCESS : FINE;
    }

    private long target(Packet request) {
        int need = IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE;
        return qp.hca.keys.translate(request.rkey, request.remoteAddress, Long.BYTES, need, qp);
    }

    private int checkFlush(Packet request) {
        int need = Feth.need(request.placement);
        long bytes = Integer.toUnsignedLong(request.dmaLength);
        if ((qp.access & need) != need
                || qp.maxDestReadAtomic == 0
                || !Feth.isValid(request.placement)
                || bytes > Hca.MAX_MESSAGE) {
            return Nak.INVALID_REQUEST;
        }
        boolean permitted = Feth.isOfAll(request.placement)
                ? qp.hca.keys.permitsAll(request.rkey, need, qp)
                : qp.hca.keys.permits(request.rkey, request.remoteAddress, bytes, need, qp);
        return permitted ? FINE : Nak.REMOTE_ACCESS;
    }

    /** Carries out a request that was checked. */
    void execute(Packet request) {
        if (request.opcode == Opcode.RC_FLUSH) {
            VarHandle.fullFence(); // the writes before it are done; now every thread sees them
            return;
        }
        long target = target(request);
        qp.hca.touched(target, Long.BYTES, true);
        Memory.putLongRelease(target, Memory.getLong(request.payload));
        qp.hca.engine.touched();
    }
}
