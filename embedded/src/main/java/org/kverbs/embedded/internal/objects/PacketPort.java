package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.wire.Packet;

/**
 * Carries a device's packets to other devices. Called with the engine's lock held; {@link #look} also without it, and
 * {@link #neighbour} and {@link #isNeighbour} by threads that are in the engine beside each other.
 */
public interface PacketPort extends AutoCloseable {

    /** Opens the port when the device is opened, for the first time or again. Returns 0 or -errno. */
    int open();

    /** Sends a packet, or loses it. The packet and its payload belong to the caller again when this returns. */
    void send(Packet packet);

    /** Tells whether the port carries the Ethernet frames of raw packet queue pairs. */
    default boolean carriesFrames() {
        return false;
    }

    /**
     * Sends an Ethernet frame to all devices of the network, or loses it. Its bytes belong to the caller again when
     * this returns.
     *
     * @param sender the number of the queue pair that sends it, which does not receive it itself
     */
    default void sendFrame(long frame, int length, int sender) {}

    /**
     * Tells whether packets that can wait must wait, because earlier ones have not left. A packet that is sent
     * nevertheless is lost.
     *
     * @param task made ready when there is room again
     */
    default boolean mustWait(Task task) {
        return false;
    }

    /** Tells whether a peer may outlive this process. */
    default boolean leadsToOtherProcesses() {
        return false;
    }

    /** Returns the device that packets to an address reach at once; null if there is none, or if they take time. */
    default @Nullable DeviceState neighbour(long gidHigh, long gidLow) {
        return null;
    }

    /** Tells whether packets reach a device at once at each of its addresses. */
    default boolean isNeighbour(DeviceState device) {
        return false;
    }

    /** Tells whether packets can reach an address. */
    boolean leadsTo(long gidHigh, long gidLow);

    /** Tells whether the system would choose this port, of all that lead to an address. */
    boolean isUsualTo(long gidHigh, long gidLow);

    /** Tells whether a packet may carry more than the path MTU. If so, it has arrived when {@link #send} returns. */
    boolean carriesWholeMessages();

    /**
     * Returns the most packets that may be in flight to or from one peer. The transport begins with this number and
     * reduces it after losses.
     */
    int window();

    /**
     * Takes packets that have arrived, unless another thread does.
     *
     * @param waits whether the caller then waits for an event; otherwise it polls again soon, and its polls may take
     *     the packets
     */
    void look(boolean waits);

    /**
     * Takes all packets that have arrived, so that a timer does not expire beside the answer that it waits for. Returns
     * false if some may be left: another thread takes them at the moment, or more and more come.
     */
    boolean catchUp();

    /** Joins a multicast group. Returns 0 or -errno. */
    int joinGroup(long gidHigh, long gidLow);

    /** Leaves a multicast group. */
    void leaveGroup(long gidHigh, long gidLow);

    /** Releases the resources of {@link #open} when the device's last context is closed. */
    @Override
    void close();
}
