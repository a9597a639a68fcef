package org.kverbs.benchmarks;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Measures the round trip of sixty-four bytes over TCP on the loopback, for comparison: blocking channels, no delay,
 * and an echo with its own thread.
 */
public class TcpRoundTrip extends Measured {

    private SocketChannel near;
    private Thread echo;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(RoundTrip.BYTES);

    /** Connects, and starts the echo. */
    @Setup
    public void open() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            near = SocketChannel.open(server.getLocalAddress());
            SocketChannel far = server.accept();
            near.setOption(StandardSocketOptions.TCP_NODELAY, true);
            far.setOption(StandardSocketOptions.TCP_NODELAY, true);
            echo = Thread.ofPlatform().daemon().start(() -> echo(far));
        }
    }

    private static void echo(SocketChannel far) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(RoundTrip.BYTES);
        try (far) {
            while (true) {
                receive(far, bytes);
                send(far, bytes);
            }
        } catch (IOException e) {
            // The other end was closed.
        }
    }

    private static void send(SocketChannel to, ByteBuffer bytes) throws IOException {
        bytes.flip();
        while (bytes.hasRemaining()) {
            to.write(bytes);
        }
    }

    private static void receive(SocketChannel from, ByteBuffer bytes) throws IOException {
        bytes.clear();
        while (bytes.hasRemaining()) {
            if (from.read(bytes) < 0) {
                throw new EOFException("the other end was closed");
            }
        }
    }

    /** Makes one round trip. */
    @Benchmark
    public void roundTrip() throws IOException {
        buffer.position(buffer.capacity());
        send(near, buffer);
        receive(near, buffer);
    }

    /** Closes both ends. */
    @TearDown
    public void close() throws IOException, InterruptedException {
        near.close();
        echo.join();
    }
}
