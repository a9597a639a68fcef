package org.kverbs.benchmarks;

import java.util.List;
import org.kverbs.Device;
import org.kverbs.ReceiveRequests;
import org.kverbs.SendRequests;
import org.kverbs.embedded.EmbeddedProvider;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/** Measures the round trip of 64 bytes between two embedded devices with busy polling, in memory or over UDP. */
public class RoundTrip extends OnEmbeddedDevices {

    /** The bytes of a message. */
    static final int BYTES = 64;

    /** True if the echo has its own thread; otherwise one thread polls for both ends. */
    @Param({"false", "true"})
    public boolean twoThreads;

    /** What connects the devices: memory, or UDP sockets on the loopback of this machine. */
    @Param({"MEMORY", "UDP", "UDP_APART"})
    public Wire wire;

    /** How the devices are connected. */
    public enum Wire {
        MEMORY,
        /** Both devices belong to one provider, as those of one process. */
        UDP,
        /** Each device has a provider of its own, so that they share no lock, as those of two processes. */
        UDP_APART
    }

    private final SendRequests ping = new SendRequests();
    private final SendRequests pong = new SendRequests();
    private final ReceiveRequests nearReceive = new ReceiveRequests();
    private final ReceiveRequests farReceive = new ReceiveRequests();
    private Thread echo;
    private volatile boolean closing;

    @Override
    int bytes() {
        return 2 * BYTES;
    }

    @Override
    List<Device> devices() {
        return switch (wire) {
            case MEMORY -> super.devices();
            case UDP -> devices("udp,udp");
            case UDP_APART -> List.of(devices("udp").getFirst(), devices("udp").getFirst());
        };
    }

    private static List<Device> devices(String words) {
        var provider = new EmbeddedProvider(words);
        return provider.devices().stream().map(device -> Device.of(provider, device)).toList();
    }

    @Override
    void prepare() {
        ping.send(1).from(near.memory.slice(0, BYTES)).signaled();
        pong.send(1).from(far.memory.slice(0, BYTES)).signaled();
        nearReceive.receive(1).into(near.memory.slice(BYTES, BYTES));
        farReceive.receive(1).into(far.memory.slice(BYTES, BYTES));
        far.qp.postReceive(farReceive);
        if (twoThreads) {
            echo = Thread.ofPlatform().daemon().start(() -> {
                while (!closing) {
                    echo();
                }
            });
        }
    }

    private void echo() {
        far.awaitReceives(1);
        far.qp.postReceive(farReceive);
        far.qp.post(pong);
        far.awaitSends(1);
    }

    /** Makes one round trip. */
    @Benchmark
    public void roundTrip() {
        near.qp.postReceive(nearReceive);
        near.qp.post(ping);
        if (!twoThreads) {
            echo();
        }
        near.awaitReceives(1);
        near.awaitSends(1);
    }

    @Override
    void stop() throws InterruptedException {
        // The echo checks the flag after each message.
        closing = true;
        if (twoThreads) {
            roundTrip();
            echo.join();
        }
    }
}
