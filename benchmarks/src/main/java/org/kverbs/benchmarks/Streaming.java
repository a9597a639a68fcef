package org.kverbs.benchmarks;

import java.util.concurrent.TimeUnit;
import org.kverbs.Device;
import org.kverbs.embedded.EmbeddedProvider;

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
     * @param arguments the names of the sending and the receiving device, or {@code udp:} and an address for an
     *     embedded device with a provider of its own; 1 or 2 threads; the milliseconds of a measurement, and those of a
     *     warm-up. Before the first measurement every kind is sent for the latter time, in {@value #TURNS} turns, so
     *     that the JVM compiles with all kinds in view.
     */
    public static void main(String[] arguments) {
        Device from = device(arguments[0]);
        Device to = device(arguments[1]);
        boolean isParted = arguments[2].equals("2");
        long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[3]));
        long warmUp = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(arguments[4]));
        for (int turn = 0; turn < TURNS; turn++) {
            for (Traffic traffic : Traffic.values()) {
                run(from, to, traffic, isParted, warmUp / TURNS);
            }
        }
        for (Traffic traffic : Traffic.values()) {
            double perSecond = run(from, to, traffic, isParted, nanos);
            System.out.printf("%s %.0f %.1f%n", traffic.label(), perSecond, perSecond * traffic.bytes() / 1e6);
        }
    }

    private static Device device(String name) {
        if (!name.startsWith("udp:")) {
            return Device.byName(name);
        }
        var provider = new EmbeddedProvider(name);
        return Device.of(provider, provider.devices().getFirst());
    }

    private static double run(Device from, Device to, Traffic traffic, boolean isParted, long nanos) {
        try (var stream = new Stream(from, to, traffic, isParted)) {
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
