package org.kverbs.benchmarks;

import java.util.concurrent.TimeUnit;
import org.kverbs.Device;

/**
 * Measures messages and bytes a second over a reliable connection between two devices of this machine, with the same
 * program for kernel devices and embedded ones. {@code benchmarks/udp} starts it.
 */
public final class Streaming {

    /** How long a measurement goes on without a completion before it fails. */
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(20);

    private static final int TURNS = 8;

    private Streaming() {}

    /**
     * Measures, and prints a line for each kind of message: its name, messages a second, and megabytes (10^6) a second.
     *
     * @param arguments the names of the sending and the receiving device, the milliseconds of a measurement, and those
     *     of a warm-up. Before the first measurement every kind is sent for the latter time, in {@value #TURNS} turns,
     *     so that the JVM compiles with all kinds in view.
     */
    public static void main(String[] arguments) {
        Device from = Device.byName(arguments[0]);
        Device to = Device.byName(arguments[1]);
        long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[2]));
        long warmUp = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[3]));
        for (int turn = 0; turn < TURNS; turn++) {
            for (Traffic traffic : Traffic.values()) {
                run(from, to, traffic, warmUp / TURNS);
            }
        }
        for (Traffic traffic : Traffic.values()) {
            double perSecond = run(from, to, traffic, nanos);
            System.out.printf("%s %.0f %.1f%n", traffic.label(), perSecond, perSecond * traffic.bytes() / 1e6);
        }
    }

    private static double run(Device from, Device to, Traffic traffic, long nanos) {
        try (var stream = new Stream(from, to, traffic)) {
            double perSecond = measure(stream, nanos);
            stream.check();
            return perSecond;
        }
    }

    /** Returns messages a second. */
    private static double measure(Stream stream, long nanos) {
        long begin = System.nanoTime();
        long last = begin;
        long messages = 0;
        for (long now = begin; now - begin < nanos; now = System.nanoTime()) {
            int done = stream.send();
            messages += done;
            if (done > 0) {
                last = now;
            } else if (now - last > PATIENCE) {
                throw new IllegalStateException(
                        "no message has arrived for %d s, after %d messages"
                                .formatted(PATIENCE / 1_000_000_000, messages));
            }
        }
        return messages * 1e9 / (System.nanoTime() - begin);
    }
}
