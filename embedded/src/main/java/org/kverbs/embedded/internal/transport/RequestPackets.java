package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/** Fills the packets of the requests of a connected queue pair: the fields that depend on the operation. */
final class RequestPackets {

    /** The most PSNs that a read requests at once: far from half of the PSN space. */
    private static final int MOST = 1 << 16;

    private final Qp qp;
    private final Packet packet;
    /** Gathers a payload that lies in several places. */
    private @Nullable MemorySegment staging;

    /** @param packet the packet to fill */
    RequestPackets(Qp qp, Packet packet) {
        this.qp = qp;
        this.packet = packet;
    }

    /**
     * Fills a request for the next part of a read. Returns how many PSNs it takes; 0 if a part is in flight.
     *
     * @param asStep whether the part is one step, which an {@link EarlyCopy} has made
     */
    int read(SendWqe wqe, int room, boolean asStep) {
        if (wqe.sent != wqe.received) {
            return 0; // a part of the read is in flight
        }
        // The rest is requested when this part has arrived.
        int most = asStep ? Requester.STEP / qp.pathMtu : MOST;
        int covered = wqe.ask(qp.hca.link.carriesWholeMessages() ? most : room);
        long offset = (long) wqe.sent * qp.pathMtu;
        packet.opcode = qp.transport() | Opcode.RC_READ_REQUEST;
        packet.remoteAddress = wqe.remoteAddress + offset;
        packet.rkey = wqe.rkey;
        packet.dmaLength = (int) Math.min(wqe.length - offset, (long) covered * qp.pathMtu);
        return covered;
    }

    /** Fills the packet of an atomic. Returns how many PSNs it takes. */
    int atomic(SendWqe wqe) {
        boolean swap = wqe.opcode == IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP;
        packet.opcode = qp.transport() | (swap ? Opcode.RC_COMPARE_SWAP : Opcode.RC_FETCH_ADD);
        packet.remoteAddress = wqe.remoteAddress;
        packet.rkey = wqe.rkey;
        packet.swapOrAdd = swap ? wqe.swap : wqe.compareOrAdd;
        packet.compare = swap ? wqe.compareOrAdd : 0;
        return 1;
    }

    /** Fills the packet of an atomic write. Returns how many PSNs it takes. */
    int atomicWrite(SendWqe wqe) {
        packet.opcode = Opcode.RC_ATOMIC_WRITE;
        packet.remoteAddress = wqe.remoteAddress;
        packet.rkey = wqe.rkey;
        packet.dmaLength = Long.BYTES;
        packet.payload = staging();
        packet.payloadLength = Long.BYTES;
        Memory.putLong(packet.payload, wqe.compareOrAdd);
        return 1;
    }

    /** Fills the packet of a flush. Returns how many PSNs it takes. */
    int flush(SendWqe wqe) {
        packet.opcode = Opcode.RC_FLUSH;
        packet.remoteAddress = wqe.remoteAddress;
        packet.rkey = wqe.rkey;
        packet.dmaLength = (int) wqe.compareOrAdd;
        packet.placement = wqe.placement;
        return 1;
    }

    /**
     * Fills the next packet of a send or write, or as much as a step on a link that carries whole
     * messages, unless the rate is limited. Returns how
     * many PSNs it takes; 0 if the request failed.
     */
    int data(SendWqe wqe) {
        int mtu = qp.pathMtu;
        long offset = (long) wqe.sent * mtu;
        long left = wqe.length - offset;
        int covered = 1;
        long bytes = Math.min(left, mtu);
        long place = MemoryKey.NONE;
        if (left > mtu && !qp.pacer.isLimited() && qp.hca.link.carriesWholeMessages()) {
            int most = Math.min(wqe.psns - wqe.sent, Requester.STEP / mtu);
            long all = Math.min(left, (long) most * mtu);
            place = wqe.contiguous(offset, all, qp);
            if (place != MemoryKey.NONE) {
                covered = most;
                bytes = all;
            }
        }
        if (place == MemoryKey.NONE) {
            place = wqe.contiguous(offset, bytes, qp);
        }
        if (place == MemoryKey.NONE) {
            place = staging();
            if (!wqe.copy(offset, place, bytes, qp)) {
                qp.completer.fail(wqe, IbvWcStatus.IBV_WC_LOC_PROT_ERR);
                return 0;
            }
        }
        packet.payload = place;
        packet.payloadLength = (int) bytes;
        packet.psnCount = covered;
        boolean first = wqe.sent == 0;
        boolean last = wqe.sent + covered == wqe.psns;
        packet.opcode = qp.transport() | wqe.packetOpcode(first, last);
        packet.immediate = wqe.immediate;
        packet.solicited = last && wqe.is(IbvSendFlags.IBV_SEND_SOLICITED);
        if (wqe.isWrite() && first) {
            packet.remoteAddress = wqe.remoteAddress;
            packet.rkey = wqe.rkey;
            packet.dmaLength = (int) wqe.length;
        }
        return covered;
    }

    private long staging() {
        if (staging == null) {
            staging = Arena.ofAuto().allocate(4096, 8);
        }
        return staging.address();
    }
}
