package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.wire.Packet;

/** What carries a device's packets to others. Called with the engine's lock held, {@link #look} without it, too. */
public interface PacketPort extends AutoCloseable {

    /** Makes it ready, as the device is opened for the first time or again. Returns 0 or -errno. */
    int open();

    /** Sends a packet, or loses it. The packet and its payload are the caller's again when this returns. */
    void send(Packet packet);

    /**
     * Whether packets that can wait must, as those before them have not left; a packet that is sent nevertheless is
     * lost.
     *
     * @param task made ready when there is room again
     */
    default boolean mustWait(Task task) {
        return false;
    }

    /** Whether who is at its other end may live longer than this process. */
    default boolean leadsToOtherProcesses() {
        return false;
    }

    /** Whether packets to an address find their way. */
    boolean leadsTo(long gidHigh, long gidLow);

    /** Whether this is the way to an address, of those that lead there, that the system would choose. */
    boolean isUsualTo(long gidHigh, long gidLow);

    /** Whether a packet may carry more than the path MTU: then it has arrived when {@link #send} returns. */
    boolean carriesWholeMessages();

    /**
     * How many packets may be on their way to or from one peer at once, at most. The transport begins with it and
     * counts down from losses.
     */
    int window();

    /**
     * Sees whether packets have come, unless another thread does.
     *
     * @param waits whether the caller goes on by waiting for an event; else it polls again soon, and who does gets its
     *     packets by that
     */
    void look(boolean waits);

    /** Lets packets to a multicast group come. Returns 0 or -errno. */
    int joinGroup(long gidHigh, long gidLow);

    /** Ends that. */
    void leaveGroup(long gidHigh, long gidLow);

    /** Gives back what {@link #open} took, as the device's last context was closed. */
    @Override
    void close();
}
