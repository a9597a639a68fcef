package org.kverbs.embedded.internal.network;

import org.kverbs.embedded.Faults;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.embedded.internal.wire.PacketCodec;
import org.kverbs.embedded.internal.wire.PacketSink;
import org.kverbs.internal.memory.Memory;

/** Carries packets as bytes from one device of a switch to another, and applies the faults. */
final class FaultyPath implements PacketSink {

    /** The additional delay of a packet that others overtake, in nanoseconds. */
    private static final long OVERTAKEN = 100_000;
    /** The shortest delay, in nanoseconds: packets that are sent in one call then arrive in order. */
    private static final long SHORTEST = 1_000;

    private static final long DROPPED = -1;

    final Hca target;
    private final InProcessNetwork network;
    private final Icrc icrc = new Icrc();
    private Faults faults;
    /** The packets that wait for a slow receiver. */
    private final ReceiverQueue queue;
    /** Takes the frames that have been on their way. */
    private final PacketSink arrivals = this::acceptFrame;

    FaultyPath(InProcessNetwork network, Hca target, ReceiverQueue queue, Faults faults) {
        this.network = network;
        this.target = target;
        this.queue = queue;
        this.faults = faults;
    }

    void setFaults(Faults next) {
        faults = next;
    }

    boolean isPerfect() {
        return faults.equals(Faults.NONE);
    }

    private boolean hits(double part) {
        // A fault with probability zero draws no random number, so that a seed means the same whatever other faults are
        // set.
        boolean hit = part > 0 && network.random.nextDouble() < part;
        if (hit) {
            network.injected++;
        }
        return hit;
    }

    void send(Packet packet) {
        if (hits(faults.loss())) {
            return;
        }
        dispatch(packet);
        if (hits(faults.duplication())) {
            dispatch(packet);
        }
    }

    /** Sends an Ethernet frame; the parameters are those of {@code PacketPort.sendFrame}. */
    void sendFrame(long frame, int length, int sender) {
        if (hits(faults.loss())) {
            return;
        }
        dispatchFrame(frame, length, sender);
        if (hits(faults.duplication())) {
            dispatchFrame(frame, length, sender);
        }
    }

    private void dispatchFrame(long frame, int length, int sender) {
        long delay = delay();
        if (delay == DROPPED) {
            return;
        }
        if (hits(faults.corruption())) {
            target.counters.count(Counter.PORT_RCV_ERRORS); // a NIC drops a frame with a wrong checksum
            return;
        }
        Packet copy = network.pool.take();
        if (copy == null) {
            return;
        }
        Memory.copy(frame, copy.buffer, length);
        copy.payload = copy.buffer;
        copy.payloadLength = length;
        copy.sourceQp = sender;
        copy.sink = arrivals;
        target.engine.schedule(copy, delay);
    }

    private void acceptFrame(Packet copy) {
        try {
            target.takeFrame(copy.payload, copy.payloadLength, copy.sourceQp);
        } finally {
            network.pool.give(copy);
        }
    }

    /** Returns how long a packet is on its way, or {@link #DROPPED} if a slow receiver has no room for it. */
    private long delay() {
        long now = target.engine.now();
        long delay = SHORTEST + between(faults.minDelay().toNanos(), faults.maxDelay().toNanos());
        if (hits(faults.reordering())) {
            delay += OVERTAKEN;
        }
        if (faults.packetsPerSecond() > 0) {
            long each = each();
            delay = queue.add(now, delay, each);
            if (delay == DROPPED) {
                network.injected++;
            }
        }
        return delay;
    }

    /** Returns the time in which a slow receiver takes a packet, in nanoseconds. */
    private long each() {
        return Math.max(1, 1_000_000_000L / faults.packetsPerSecond());
    }

    /** Returns when a packet that is sent now arrives at the soonest. */
    private long soonest() {
        return target.engine.now() + SHORTEST + faults.minDelay().toNanos();
    }

    /** Tells whether the network marks the next packet for congestion. */
    private boolean marks() {
        return faults.markingFrom() > 0 && faults.packetsPerSecond() > 0
                && queue.waiting(soonest(), each()) >= faults.markingFrom()
                || faults.marking() > 0 && network.random.nextDouble() < faults.marking();
    }

    private void dispatch(Packet packet) {
        boolean markable = faults.marks() && Opcode.isControlled(packet.opcode);
        boolean marked = markable && marks();
        long delay = delay();
        if (delay == DROPPED) {
            return;
        }
        Packet copy = network.pool.take();
        if (copy == null) {
            return; // a switch without free buffers drops the packet, too
        }
        copy.copyHeader(packet);
        if (markable) {
            copy.trafficClass = copy.trafficClass & ~Packet.CONGESTED | (marked ? Packet.CONGESTED : Packet.MARKABLE);
        }
        int length = encode(packet, copy);
        Icrc.put(copy.buffer + length, icrc(packet, copy.buffer, length));
        copy.payload = copy.buffer;
        copy.payloadLength = length;
        if (hits(faults.corruption())) {
            long at = copy.buffer + network.random.nextInt(length + Icrc.LENGTH);
            Memory.putByte(at, (byte) (Memory.getByte(at) ^ 1 << network.random.nextInt(8)));
        }
        copy.sink = this;
        target.engine.schedule(copy, delay);
    }

    /** Encodes a packet. If the payload's memory was freed, the pool gets its packet back. */
    private int encode(Packet packet, Packet copy) {
        try {
            int length = PacketCodec.encode(packet, copy.buffer);
            target.engine.touched();
            return length;
        } catch (Throwable e) {
            network.pool.give(copy);
            throw e;
        }
    }

    private long between(long least, long most) {
        return least == most ? least : least + (long) (network.random.nextDouble() * (most - least));
    }

    private int icrc(Packet addresses, long at, int length) {
        return icrc.ofV6(
                addresses.sourceGidHigh,
                addresses.sourceGidLow,
                addresses.destinationGidHigh,
                addresses.destinationGidLow,
                Icrc.UDP_PORT,
                Icrc.UDP_PORT,
                at,
                length);
    }

    /**
     * Takes an arriving packet. Between {@link #dispatch} and here the packet's payload is the bytes of the whole
     * packet.
     */
    @Override
    public void accept(Packet packet) {
        try {
            arrive(packet, packet.payloadLength);
        } finally {
            network.pool.give(packet);
        }
    }

    private void arrive(Packet packet, int length) {
        if (!target.isUp()) {
            return;
        }
        int difference = Icrc.get(packet.buffer + length) ^ icrc(packet, packet.buffer, length);
        if (difference != 0) {
            target.counters.count(Counter.RX_ICRC_ENCAPSULATED);
            network.tapDamaged(packet, packet.buffer, length, difference);
        } else if (PacketCodec.decode(packet, packet.buffer, length)) {
            network.tap(packet);
            target.take(packet);
        } else {
            target.counters.count(Counter.PORT_RCV_ERRORS);
        }
    }
}
