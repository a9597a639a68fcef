package org.kverbs.embedded.internal.wire;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Event;

/**
 * One RoCEv2 packet, its header fields decoded, all numbers in host order. Mutable and used again and again: who takes
 * one from the {@link PacketPool} gives it back.
 *
 * <p>The payload is a run of bytes in native memory. In a packet that came by a wire it lies in the packet's own
 * {@link #buffer}; in one that crosses the in-process fabric without faults it lies in the sender's memory, and may
 * then be longer than the path MTU. Which of the header fields mean something follows from {@link #opcode}
 * ({@link Opcode}).
 */
public final class Packet extends Event {

    /** Room for the longest packet: headers, 4096 bytes, pad and ICRC. */
    public static final int BUFFER_SIZE = 4096 + 256;

    /** Address of {@link #BUFFER_SIZE} bytes of native memory that belong to this object; 0 if it has none. */
    public final long buffer;

    // Addresses: GIDs as two big-endian halves (an IPv4 address is ::ffff:a.b.c.d). RFC 4291, IBA annex A17.
    public long sourceGidHigh;
    public long sourceGidLow;
    public long destinationGidHigh;
    public long destinationGidLow;
    public int trafficClass;
    public int hopLimit;
    public int flowLabel;
    /** UDP source port; 0 lets the link choose. */
    public int sourcePort;

    // BTH, IBA volume 1, 9.2.
    public int opcode;
    public boolean solicited;
    public boolean ackRequest;
    public int pkey;
    public int destinationQp;
    public int psn;

    // RETH and the address part of AtomicETH.
    public long remoteAddress;
    public int rkey;
    /** Bytes of the whole transfer, unsigned. */
    public int dmaLength;

    // AtomicETH; swapOrAdd is what fetch-and-add adds.
    public long swapOrAdd;
    public long compare;

    // AETH and AtomicAckETH.
    public int syndrome;
    public int msn;
    public long originalValue;

    // DETH.
    public int qkey;
    public int sourceQp;

    /** ImmDt or IETH: as on the wire read as a big-endian number. */
    public int immediate;

    /** Address of the payload; anything if it is empty. */
    public long payload;
    /** Bytes of payload, without the pad. */
    public int payloadLength;

    /** How many PSNs it takes: 1, or more when it carries a whole message past the MTU. */
    public int psnCount = 1;

    /** Who gets the packet when its time has come; null as it comes from the pool. */
    public @Nullable PacketSink sink;

    public Packet(long buffer) {
        this.buffer = buffer;
    }

    @Override
    protected void happen() {
        PacketSink to = sink;
        if (to != null) {
            to.accept(this);
        }
    }

    /** Takes over all header fields and the payload's place of another packet; not its bytes. */
    public void copyHeader(Packet from) {
        sourceGidHigh = from.sourceGidHigh;
        sourceGidLow = from.sourceGidLow;
        destinationGidHigh = from.destinationGidHigh;
        destinationGidLow = from.destinationGidLow;
        trafficClass = from.trafficClass;
        hopLimit = from.hopLimit;
        flowLabel = from.flowLabel;
        sourcePort = from.sourcePort;
        opcode = from.opcode;
        solicited = from.solicited;
        ackRequest = from.ackRequest;
        pkey = from.pkey;
        destinationQp = from.destinationQp;
        psn = from.psn;
        remoteAddress = from.remoteAddress;
        rkey = from.rkey;
        dmaLength = from.dmaLength;
        swapOrAdd = from.swapOrAdd;
        compare = from.compare;
        syndrome = from.syndrome;
        msn = from.msn;
        originalValue = from.originalValue;
        qkey = from.qkey;
        sourceQp = from.sourceQp;
        immediate = from.immediate;
        payload = from.payload;
        payloadLength = from.payloadLength;
        psnCount = from.psnCount;
    }
}
