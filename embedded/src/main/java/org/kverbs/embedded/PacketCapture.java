package org.kverbs.embedded;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.network.InProcessNetwork;
import org.kverbs.embedded.internal.network.Tap;
import org.kverbs.embedded.internal.wire.Capture;
import org.kverbs.embedded.internal.wire.Packet;

/**
 * Writes the packets that arrive at the devices of a fabric to a file, in the order of their arrival, until it is
 * closed: {@link EmbeddedFabric#capture}. Any thread may close it.
 */
public final class PacketCapture implements AutoCloseable {

    private final Path file;
    private final Engine engine;
    private final InProcessNetwork network;
    private final Capture capture;
    /** The offset from the engine's time to the time since 1970, in nanoseconds. */
    private final long epoch;
    private long packets;
    private boolean closed;
    private @Nullable IOException failure;

    private final Tap tap = new Tap() {
        @Override
        public void arrived(Packet packet) {
            attempt(() -> capture.write(packet, engine.now() + epoch));
        }

        @Override
        public void arrivedDamaged(Packet addresses, long bytes, int length, int difference) {
            attempt(() -> capture.writeDamaged(addresses, bytes, length, difference, engine.now() + epoch));
        }
    };

    @FunctionalInterface
    private interface Write {
        void run() throws IOException;
    }

    /** Begins the capture. Opens the file without the engine's lock, since opening a pipe can block. */
    PacketCapture(Path file, Engine engine, InProcessNetwork network) {
        this.file = file;
        this.engine = engine;
        this.network = network;
        this.epoch = engine.isVirtual() ? 0 : System.currentTimeMillis() * 1_000_000 - System.nanoTime();
        try {
            this.capture = new Capture(new BufferedOutputStream(Files.newOutputStream(file)));
        } catch (IOException e) {
            throw new UncheckedIOException("the capture file " + file + " can't be opened for writing: " + e, e);
        }
        engine.enter();
        try {
            network.setTap(tap);
        } finally {
            engine.leave();
        }
    }

    /** Writes a packet. A failure must not hurt the senders: the first one ends the file, and close() throws it. */
    private void attempt(Write write) {
        if (failure == null) {
            try {
                write.run();
                packets++;
            } catch (IOException e) {
                failure = e;
            }
        }
    }

    /** Returns how many packets the file holds so far. */
    public long packets() {
        engine.enter();
        try {
            return packets;
        } finally {
            engine.leave();
        }
    }

    /**
     * Ends the capture and completes the file. A second call does nothing.
     *
     * @throws UncheckedIOException if a packet could not be written
     */
    @Override
    public void close() {
        engine.enter();
        try {
            if (closed) {
                return;
            }
            closed = true;
            network.setTap(null);
            attemptClose();
        } finally {
            engine.leave();
        }
        if (failure != null) {
            String end = " ends after " + packets + " packets: ";
            throw new UncheckedIOException("the capture file " + file + end + failure, failure);
        }
    }

    boolean isClosed() {
        engine.enter();
        try {
            return closed;
        } finally {
            engine.leave();
        }
    }

    private void attemptClose() {
        try {
            capture.close();
        } catch (IOException e) {
            failure = failure == null ? e : failure;
        }
    }
}
