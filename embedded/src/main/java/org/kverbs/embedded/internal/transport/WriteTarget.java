package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.memory.Memory;

/** Where the current write of a connected peer goes. */
final class WriteTarget {

    private static final int WRITES = IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE;

    private final Qp qp;
    private long address;
    private long length;
    private int key;

    WriteTarget(Qp qp) {
        this.qp = qp;
    }

    /** Takes the target from the first packet of a write. Returns a NAK code if the peer may not write there, or -1. */
    int begin(Packet packet, KeyUser user) {
        if ((qp.access & WRITES) == 0) {
            return Nak.INVALID_REQUEST;
        }
        address = packet.remoteAddress;
        length = Integer.toUnsignedLong(packet.dmaLength);
        key = packet.rkey;
        if (length > Hca.MAX_MESSAGE) {
            return Nak.INVALID_REQUEST;
        }
        // The whole range is checked before the first byte is written. Pages come in as the packets come.
        return length > 0 && !qp.hca.keys.permits(key, address, length, WRITES, user) ? Nak.REMOTE_ACCESS : -1;
    }

    /** Returns the bytes of the whole write. */
    long length() {
        return length;
    }

    /**
     * Returns the native address of a part of a write that the peer is about to send, if it is plain memory of a region
     * that the peer may write to; {@link MemoryKey#NONE} if not.
     *
     * @param hasBegun whether the first packet of the write came before
     */
    long plain(SendWqe write, boolean hasBegun, long offset, long bytes) {
        boolean isSame = !hasBegun || key == write.rkey && address == write.remoteAddress && length == write.length;
        if (!isSame || (qp.access & WRITES) == 0) {
            return MemoryKey.NONE;
        }
        // The whole range, as in begin: a write that is refused writes nothing.
        long first = qp.hca.keys.plain(write.rkey, write.remoteAddress, write.length, WRITES, qp);
        return first == MemoryKey.NONE ? MemoryKey.NONE : first + offset;
    }

    /** Writes the payload of a packet, unless it is there already. Returns false if the memory is gone. */
    boolean put(Packet packet, long offset, KeyUser user) {
        long to = qp.hca.keys.translate(key, address + offset, packet.payloadLength, WRITES, user);
        if (to == MemoryKey.NONE) {
            return false;
        }
        qp.hca.touched(to, packet.payloadLength, true);
        if (to != packet.placed) {
            Memory.copy(packet.payload, to, packet.payloadLength);
        }
        qp.hca.engine.touched();
        return true;
    }
}
