package org.kverbs.embedded;

import java.time.Duration;
import java.util.Objects;

/**
 * Describes the faults on the way from one embedded device to another. Immutable: each function returns a copy with one
 * fault changed, as in {@code Faults.NONE.loss(0.01).delay(Duration.ofMillis(5))}. The fabric's seed decides which
 * packets are hit.
 *
 * @param loss the fraction of packets that is lost, 0 to 1
 * @param duplication the fraction of packets that arrives twice
 * @param reordering the fraction of packets that later packets overtake
 * @param corruption the fraction of packets in which one bit is flipped; the receiver detects it by the ICRC and drops
 *     the packet
 * @param minDelay the shortest time that a packet travels
 * @param maxDelay the longest time that a packet travels
 * @param packetsPerSecond how many packets the receiver takes in a second, 0 for no limit; further packets wait in a
 *     queue of {@value #QUEUE}, and are lost if the queue is full
 * @param marking the fraction of packets that the network marks for congestion, as a switch does (ECN). A device that
 *     gets a marked packet of a connection notifies the sender, which then sends more slowly
 * @param markingFrom how many packets must wait for a slow receiver so that further ones are marked for congestion, 0
 *     for never
 */
public record Faults(
        double loss,
        double duplication,
        double reordering,
        double corruption,
        Duration minDelay,
        Duration maxDelay,
        int packetsPerSecond,
        double marking,
        int markingFrom) {

    /** The number of packets that wait for a slow receiver. */
    public static final int QUEUE = 256;

    /** No faults: everything arrives at once, in order and intact. */
    public static final Faults NONE = new Faults(0, 0, 0, 0, Duration.ZERO, Duration.ZERO, 0, 0, 0);

    /** A bad line: 1 % lost, 1 % duplicated, 5 % reordered, 1 % damaged, a delay of 5 to 50 microseconds. */
    public static final Faults BAD_LINE =
            new Faults(0.01, 0.01, 0.05, 0.01, Duration.ofNanos(5_000), Duration.ofNanos(50_000), 0, 0, 0);

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if a fraction is not between 0 and 1, if a delay is negative or the longest
     *     below the shortest, if the rate is negative, or if markingFrom is not between 0 and {@value #QUEUE}
     */
    public Faults {
        part("loss", loss);
        part("duplication", duplication);
        part("reordering", reordering);
        part("corruption", corruption);
        if (Objects.requireNonNull(minDelay, "minDelay").isNegative() || maxDelay.compareTo(minDelay) < 0) {
            throw new IllegalArgumentException("the delay is from " + minDelay + " to " + maxDelay + ": give a"
                    + " shortest delay of at least zero and a longest delay of at least that");
        }
        if (packetsPerSecond < 0) {
            throw new IllegalArgumentException("packetsPerSecond is " + packetsPerSecond + ": give 0 (no limit) or"
                    + " more");
        }
        part("marking", marking);
        if (markingFrom < 0 || markingFrom > QUEUE) {
            throw new IllegalArgumentException("markingFrom is " + markingFrom + ": give 0 (never), or a number of"
                    + " waiting packets up to the " + QUEUE + " that the queue holds");
        }
    }

    private static void part(String name, double value) {
        if (!(value >= 0 && value <= 1)) {
            throw new IllegalArgumentException(name + " is " + value + ": give a fraction of all packets, from 0 to 1");
        }
    }

    /** Returns a copy that loses this fraction of packets. */
    public Faults loss(double part) {
        return new Faults(part, duplication, reordering, corruption, minDelay, maxDelay, packetsPerSecond,
                marking, markingFrom);
    }

    /** Returns a copy that duplicates this fraction of packets. */
    public Faults duplication(double part) {
        return new Faults(loss, part, reordering, corruption, minDelay, maxDelay, packetsPerSecond,
                marking, markingFrom);
    }

    /** Returns a copy that delays this fraction of packets, so that later packets overtake them. */
    public Faults reordering(double part) {
        return new Faults(loss, duplication, part, corruption, minDelay, maxDelay, packetsPerSecond,
                marking, markingFrom);
    }

    /** Returns a copy that damages this fraction of packets. */
    public Faults corruption(double part) {
        return new Faults(loss, duplication, reordering, part, minDelay, maxDelay, packetsPerSecond,
                marking, markingFrom);
    }

    /** Returns a copy in which every packet travels for this time. */
    public Faults delay(Duration delay) {
        return delay(delay, delay);
    }

    /**
     * Returns a copy in which each packet travels for a random time between these two, so that packets overtake each
     * other.
     */
    public Faults delay(Duration least, Duration most) {
        return new Faults(loss, duplication, reordering, corruption, least, most, packetsPerSecond,
                marking, markingFrom);
    }

    /** Returns a copy whose receiver takes at most this number of packets in a second. */
    public Faults slowReceiver(int packets) {
        return new Faults(loss, duplication, reordering, corruption, minDelay, maxDelay, packets,
                marking, markingFrom);
    }

    /** Returns a copy in which the network marks this fraction of packets for congestion. */
    public Faults marking(double part) {
        return new Faults(loss, duplication, reordering, corruption, minDelay, maxDelay, packetsPerSecond,
                part, markingFrom);
    }

    /**
     * Returns a copy in which the network marks a packet for congestion if at least this number of packets wait for the
     * {@linkplain #slowReceiver slow receiver}; 0 for never.
     */
    public Faults markingFrom(int packets) {
        return new Faults(loss, duplication, reordering, corruption, minDelay, maxDelay, packetsPerSecond,
                marking, packets);
    }

    /** Returns whether the network marks packets for congestion. */
    public boolean marks() {
        return marking > 0 || markingFrom > 0;
    }
}
