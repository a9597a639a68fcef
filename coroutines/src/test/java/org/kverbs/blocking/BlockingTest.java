package org.kverbs.blocking;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kverbs.Device;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.cm.ConnectionRejectedException;
import org.kverbs.coroutines.NotPublishedException;

/** Tests the blocking API from Java. */
@Timeout(60)
class BlockingTest {
    private static final String ADDRESS = "198.18.0.1";

    private BlockingHost host;

    @BeforeEach
    void open() {
        host = BlockingHost.open(Device.byName("embedded0"));
    }

    @AfterEach
    void close() {
        host.close();
    }

    @Test
    void shouldAnswerUntilTheClientHasFinished() throws Exception {
        try (BlockingServer server = host.serve(0, BlockingTest::echo);
                BlockingConnection client = connect(server)) {
            client.send("ping".getBytes(UTF_8));
            assertEquals("ping", new String(client.receive(), UTF_8));
            assertThrows(TimeoutException.class, () -> client.receive(Duration.ofMillis(1)));
            client.finish();
            assertNull(client.receiveOrNull());
        }
    }

    @Test
    void shouldRejectClientsWithoutTheToken() throws Exception {
        byte[] token = "open sesame".getBytes(UTF_8);
        BlockingServerBuilder builder = host.server()
                .maxConnections(10)
                .authorize(request -> new String(request.getPrivateData(), UTF_8).startsWith("open sesame"))
                .onFailure(failure -> {});
        try (BlockingServer server = builder.serve(0, BlockingTest::echo)) {
            int port = server.address().getPort();
            try (BlockingConnection client = host.client().privateData(token).connect(ADDRESS, port)) {
                client.send(token);
                assertArrayEquals(token, client.receive());
            }
            assertThrows(ConnectionRejectedException.class, () -> host.connect(ADDRESS, port));
        }
    }

    @Test
    void shouldReadAndWriteWhatTheServerPublishes() throws Exception {
        CompletableFuture<String> board = new CompletableFuture<>();
        ConnectionHandler handler = connection -> {
            BlockingPublishedMemory published = connection.publish(
                    "board",
                    64,
                    memory -> memory.setString(0, "Nobody was here"),
                    AccessFlag.REMOTE_READ,
                    AccessFlag.REMOTE_WRITE);
            echo(connection);
            board.complete(published.memory().getString(0));
        };
        try (BlockingServer server = host.serve(0, handler);
                BlockingConnection client = connect(server)) {
            BlockingRemoteRegion remote = client.awaitRemote("board");
            assertEquals(64, remote.length());
            assertEquals("Nobody", new String(remote.read(0, 6), UTF_8));
            remote.write("Kilroy".getBytes(UTF_8), 0);
            NotPublishedException missing = assertThrows(NotPublishedException.class, () -> client.remote("bord"));
            assertTrue(missing.getMessage().contains("'board'"), missing.getMessage());
            client.disconnect();
            assertEquals("Kilroy was here", board.get());
        }
    }

    @Test
    void shouldCountInOneMemoryForAllClients() throws Exception {
        try (Arena arena = Arena.ofShared();
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            MemorySegment counter = arena.allocate(8, 8);
            ConnectionHandler handler = connection -> {
                connection.publish("counter", counter, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
                echo(connection);
            };
            try (BlockingServer server = host.serve(0, handler)) {
                List<Future<Long>> counts = new ArrayList<>();
                for (int client = 0; client < 10; client++) {
                    counts.add(threads.submit(() -> count(server)));
                }
                long seen = 0;
                for (Future<Long> count : counts) {
                    seen = Math.max(seen, count.get());
                }
                assertEquals(100, seen);
                server.stop(Duration.ofSeconds(30)); // before the arena is closed
            }
        }
    }

    /** Counts ten times, and returns the counter's values. */
    private long count(BlockingServer server) throws InterruptedException {
        try (BlockingConnection client = connect(server)) {
            BlockingRemoteRegion counter = client.awaitRemote("counter");
            for (int i = 0; i < 10; i++) {
                counter.fetchAndAdd(0, 1);
            }
            long count = counter.readLong(0);
            client.disconnect();
            return count;
        }
    }

    private BlockingConnection connect(BlockingServer server) throws InterruptedException {
        return host.connect(ADDRESS, server.address().getPort());
    }

    private static void echo(BlockingConnection connection) throws InterruptedException {
        for (byte[] message; (message = connection.receiveOrNull()) != null; ) {
            connection.send(message);
        }
    }
}
