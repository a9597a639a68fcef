package org.kverbs.embedded.internal.wire;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Event;

/**
 * Holds one RoCEv2 packet with decoded header fields, all numbers in host order. Mutable and reused: the code that
 * takes a packet from the {@link PacketPool} must give it back.
 *
 * <p>The payload is a run of bytes in native memory. In a packet from a wire it lies in the packet's own {@link
 * #buffer}. In a packet that crosses the in-process fabric without faults it lies in the sender's memory, and may be
 * longer than the path MTU. {@link #opcode} tells which header fields are valid ({@link Opcode}).
 */
public final class Packet extends Event {

    /** The room for the longest packet: headers, 4096 bytes of payload, pad and ICRC. */
    public static final int BUFFER_SIZE = 4096 + 256;

    /** The bits of the traffic class that say whether the network met congestion (RFC 3168). */
    public static final int CONGESTED = 3;
    /** The value of these bits in a packet that the network may mark. */
    public static final int MARKABLE = 2;

    /** The address of {@link #BUFFER_SIZE} bytes of native memory that belong to this object; 0 if it has none. */
    public final long buffer;

    // Addresses: GIDs as two big-endian halves (an IPv4 address is ::ffff:a.b.c.d). RFC 4291, IBA annex A17.
    public long sourceGidHigh;
    public long sourceGidLow;
    public long destinationGidHigh;
    public long destinationGidLow;
    public int trafficClass;
    public int hopLimit;
    public int flowLabel;
    /** The UDP source port; 0 lets the link choose. */
    public int sourcePort;

    // BTH, IBA volume 1, 9.2.
    public int opcode;
    public boolean solicited;
    /** The migration bit: the sender's queue pair is in the state MIGRATED (IBA volume 1, 17.2.8). */
    public boolean migrated;
    public boolean ackRequest;
    public int pkey;
    public int destinationQp;
    public int psn;

    /** XRCETH: the number of the shared receive queue that the request names. */
    public int sharedQueue;

    // FETH, annex A19: enum ibv_placement_type in bits 0 to 3, enum ibv_selectivity_level in bits 4 and 5.
    public int placement;
    /** True for a flush whose ICRC is that of Soft-RoCE: see {@link Icrc#again}. */
    public boolean summedTwice;

    // RETH and the address part of AtomicETH.
    public long remoteAddress;
    public int rkey;
    /** The length of the whole transfer in bytes, unsigned. */
    public int dmaLength;

    // AtomicETH; swapOrAdd holds the operand of a fetch-and-add.
    public long swapOrAdd;
    public long compare;

    // AETH and AtomicAckETH.
    public int syndrome;
    public int msn;
    public long originalValue;

    // DETH.
    public int qkey;
    public int sourceQp;

    /** ImmDt or IETH: the four bytes on the wire, read as a big-endian number. */
    public int immediate;

    /** The address of the payload; undefined if it is empty. */
    public long payload;
    /** The bytes of payload, without the pad. */
    public int payloadLength;

    /**
     * The address in the receiver's memory where the payload is already; 0 if the receiver copies it. In the request of
     * a read: the address in the sender's memory where the bytes at {@link #payload} in the receiver's are already.
     * Only in a packet that has arrived when it was sent.
     */
    public long placed;

    /** The number of PSNs that the packet takes: 1, or more if it carries more than the path MTU. */
    public int psnCount = 1;

    /** Takes the packet when its time has come; null after {@link PacketPool#take}. */
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

    /** Copies all header fields and the payload's address and length of another packet; not the payload's bytes. */
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
        migrated = from.migrated;
        ackRequest = from.ackRequest;
        pkey = from.pkey;
        destinationQp = from.destinationQp;
        psn = from.psn;
        sharedQueue = from.sharedQueue;
        placement = from.placement;
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
