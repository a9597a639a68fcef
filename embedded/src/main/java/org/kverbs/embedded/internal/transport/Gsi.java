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
import org.kverbs.internal.memory.Memory;

/**
 * Implements queue pair 1 of a device's port, the general services interface (IBA volume 1, 13.5). It sends management
 * datagrams, and hands arriving ones on when the call that brought them has done its part. Called with the engine's
 * lock held.
 */
public final class Gsi extends Task {

    /** The size of every management datagram in bytes (IBA volume 1, 13.4.2). */
    public static final int MAD = 256;
    static final int NUMBER = 1;
    /** The Q_Key of queue pair 1 (IBA volume 1, 13.5.3.1). */
    static final int QKEY = 0x8001_0000;
    /** The management class of connections, and the attributes of counted datagrams (IBA volume 1, 12.6). */
    private static final int CM_CLASS = 0x07;

    private static final int REQ = 0x10;
    private static final int REJ = 0x12;
    /** The most datagrams that wait; further datagrams are dropped. */
    private static final int WAITING = 1024;

    /**
     * A datagram that arrived: its {@link #MAD} bytes, the sender's address and the address of ours that it was sent
     * to.
     */
    public record Datagram(byte[] bytes, long sourceHigh, long sourceLow, long destinationHigh, long destinationLow) {}

    /** Gets the arriving datagrams. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Takes a datagram; called with the engine's lock held. A stranger may have sent it: no field is to be trusted.
         */
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

    /** Sets the handler for datagrams that arrive from now on. */
    public void serve(Handler by) {
        handler = by;
    }

    /** Keeps the device's port open until {@link #close}. Returns 0 or -errno. */
    public int open() {
        return hca.hold();
    }

    /** Ends one {@link #open}. */
    public void close() {
        hca.release();
    }

    /** Tells whether a peer may outlive this process. */
    public boolean leadsToOtherProcesses() {
        return hca.link.leadsToOtherProcesses();
    }

    /** Sends a datagram of {@link #MAD} bytes to queue pair 1 at an address, from one of our addresses. */
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
                hca.engine.report(e); // the next datagram belongs to another connection
            }
        }
    }
}
