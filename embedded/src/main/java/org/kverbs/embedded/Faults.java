package org.kverbs.embedded;

import java.time.Duration;
import java.util.Objects;

/**
 * What goes wrong on a way from one embedded device to another. Immutable: each function gives a copy with one thing
 * changed, as in {@code Faults.NONE.loss(0.01).delay(Duration.ofMillis(5))}. Which packets are hit follows from the
 * fabric's seed.
 *
 * @param loss the part of the packets that is lost, 0 to 1
 * @param duplication the part of the packets that arrives twice
 * @param reordering the part of the packets that later ones overtake
 * @param corruption the part of the packets in which a bit is turned over; the receiver's ICRC finds that, and drops
 *     them
 * @param minDelay how long a packet is on its way at least
 * @param maxDelay how long it is on its way at most
 * @param packetsPerSecond how many packets the receiver takes in a second, the others waiting in a queue of
 *     {@value #QUEUE}, beyond which they are lost; 0 for as many as come
 */
public record Faults(
        double loss,
        double duplication,
        double reordering,
        double corruption,
        Duration minDelay,
        Duration maxDelay,
        int packetsPerSecond) {

    /** Packets that wait for a slow receiver. */
    public static final int QUEUE = 256;

    /** Everything arrives at once, in order and as it was sent. */
    public static final Faults NONE = new Faults(0, 0, 0, 0, Duration.ZERO, Duration.ZERO, 0);

    /** A bad line: 1 % lost, 1 % twice, 5 % out of order, 1 % damaged, 5 to 50 microseconds on the way. */
    public static final Faults BAD_LINE =
            new Faults(0.01, 0.01, 0.05, 0.01, Duration.ofNanos(5_000), Duration.ofNanos(50_000), 0);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if a part is not between 0 and 1, or a delay or a rate makes no sense
     */
    public Faults {
        part("loss", loss);
        part("duplication", duplication);
        part("reordering", reordering);
        part("corruption", corruption);
        if (Objects.requireNonNull(minDelay, "minDelay").isNegative() || maxDelay.compareTo(minDelay) < 0) {
            throw new IllegalArgumentException("a delay from " + minDelay + " to " + maxDelay
                    + ": it must go up from zero");
        }
        if (packetsPerSecond < 0) {
            throw new IllegalArgumentException("packetsPerSecond " + packetsPerSecond + ": 0 or more");
        }
    }

    private static void part(String name, double value) {
        if (!(value >= 0 && value <= 1)) {
            throw new IllegalArgumentException(name + " " + value + ": a part of all packets is 0 to 1");
        }
    }

    /** With this part lost. */
    public Faults loss(double part) {
        return new Faults(part, duplication, reordering, corruption, minDelay, maxDelay, packetsPerSecond);
    }

    /** With this part duplicated. */
    public Faults duplication(double part) {
        return new Faults(loss, part, reordering, corruption, minDelay, maxDelay, packetsPerSecond);
    }

    /** With this part overtaken. */
    public Faults reordering(double part) {
        return new Faults(loss, duplication, part, corruption, minDelay, maxDelay, packetsPerSecond);
    }

    /** With this part damaged. */
    public Faults corruption(double part) {
        return new Faults(loss, duplication, reordering, part, minDelay, maxDelay, packetsPerSecond);
    }

    /** With every packet as long on its way. */
    public Faults delay(Duration delay) {
        return delay(delay, delay);
    }

    /** With each packet on its way for some time between these; then packets overtake each other. */
    public Faults delay(Duration least, Duration most) {
        return new Faults(loss, duplication, reordering, corruption, least, most, packetsPerSecond);
    }

    /** With a receiver that takes no more packets in a second than this. */
    public Faults slowReceiver(int packets) {
        return new Faults(loss, duplication, reordering, corruption, minDelay, maxDelay, packets);
    }
}
