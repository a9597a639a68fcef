package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.AddressVector;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.ffm.Memory;

/**
 * Queue pair 1 of a device's port, the general services interface (IBA volume 1, 13.5): management datagrams go out,
 * and those that come are handed on when the call that brought them has done its part. All methods need the engine's
 * lock.
 */
public final class Gsi extends Task {

    /** Bytes of every management datagram (IBA volume 1, 13.4.2). */
    public static final int MAD = 256;
    static final int NUMBER = 1;
    /** The Q_Key of queue pair 1 (IBA volume 1, 13.5.3.1). */
    static final int QKEY = 0x8001_0000;
    /** The management class of connections, and what its datagrams are called that are counted (IBA volume 1, 12.6). */
    private static final int CM_CLASS = 0x07;

    private static final int REQ = 0x10;
    private static final int REJ = 0x12;
    /** Datagrams that may wait; a flood of them is cut here. */
    private static final int WAITING = 1024;

    /** A datagram that came: its {@link #MAD} bytes, who sent it and to which of our addresses. */
    public record Datagram(byte[] bytes, long sourceHigh, long sourceLow, long destinationHigh, long destinationLow) {}

    /** Who gets what comes. */
    @FunctionalInterface
    public interface Handler {
        /** Called with the engine's lock. Whatever the bytes say is a stranger's word. */
        void take(Gsi port, Datagram datagram);
    }

    private final Hca hca;
    private final Packet packet = new Packet(0);
    private final MemorySegment staging = Arena.ofAuto().allocate(MAD, 8);
    private final ArrayDeque<Datagram> waiting = new ArrayDeque<>();
    private @Nullable Handler handler;
    private int psn;

    Gsi(Hca hca) {
        this.hca = hca;
    }

    public Hca device() {
        return hca;
    }

    /** Has what comes from now on given to this handler. */
    public void serve(Handler by) {
        handler = by;
    }

    /** Has the device's link open until {@link #close}. Returns 0 or -errno. */
    public int open() {
        return hca.hold();
    }

    /** Ends one {@link #open}. */
    public void close() {
        hca.release();
    }

    /** Whether who is at the other end of the link may live longer than this process. */
    public boolean leadsToOtherProcesses() {
        return hca.link.leadsToOtherProcesses();
    }

    /** Sends a datagram of {@link #MAD} bytes to queue pair 1 at an address, from one of ours. */
    public void send(byte[] mad, int sourceIndex, long gidHigh, long gidLow) {
        MemorySegment.copy(mad, 0, staging, ValueLayout.JAVA_BYTE, 0, MAD);
        packet.sourceGidHigh = hca.gids.high(sourceIndex);
        packet.sourceGidLow = hca.gids.low(sourceIndex);
        packet.destinationGidHigh = gidHigh;
        packet.destinationGidLow = gidLow;
        packet.hopLimit = AddressVector.HOPS;
        packet.sourcePort = 0xc000 | NUMBER;
        packet.opcode = Opcode.UD_SEND_ONLY;
        packet.pkey = Hca.PKEY;
        packet.psn = psn;
        packet.destinationQp = NUMBER;
        packet.sourceQp = NUMBER;
        packet.qkey = QKEY;
        packet.payload = staging.address();
        packet.payloadLength = MAD;
        psn = Psn.plus(psn, 1);
        hca.counters.count(Counter.SENT_PKTS);
        hca.counters.count(Counter.SENT_BYTES, MAD);
        if (isOfConnections(mad) && attribute(mad) == REJ) {
            hca.counters.count(Counter.CM_TX_REJ);
        }
        hca.link.send(packet);
    }

    private static boolean isOfConnections(byte[] mad) {
        return mad[1] == CM_CLASS;
    }

    private static int attribute(byte[] mad) {
        return (mad[16] & 0xff) << 8 | mad[17] & 0xff;
    }

    private void countReceived(byte[] mad) {
        hca.counters.count(Counter.RCVD_PKTS);
        hca.counters.count(Counter.RCVD_BYTES, MAD);
        if (isOfConnections(mad) && attribute(mad) == REQ) {
            hca.counters.count(Counter.CM_RX_REQ);
        } else if (isOfConnections(mad) && attribute(mad) == REJ) {
            hca.counters.count(Counter.CM_RX_REJ);
        }
    }

    void take(Packet from) {
        boolean good = from.opcode == Opcode.UD_SEND_ONLY && from.qkey == QKEY && from.payloadLength == MAD;
        if (!good || handler == null || waiting.size() == WAITING) {
            hca.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        byte[] bytes = Memory.at(from.payload, MAD).toArray(ValueLayout.JAVA_BYTE);
        countReceived(bytes);
        waiting.add(new Datagram(
                bytes, from.sourceGidHigh, from.sourceGidLow, from.destinationGidHigh, from.destinationGidLow));
        hca.engine.ready(this);
    }

    @Override
    protected void run() {
        for (Datagram next = waiting.poll(); next != null; next = waiting.poll()) {
            try {
                if (handler != null) {
                    handler.take(this, next);
                }
            } catch (Throwable e) {
                hca.engine.report(e); // the next one is somebody else's
            }
        }
    }
}
