package org.kverbs.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.kverbs.testkit.Testkit.connectedPair;
import static org.kverbs.testkit.Testkit.leakCheck;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.kverbs.CompletionQueue;
import org.kverbs.WorkCompletionStatus;
import org.kverbs.embedded.Faults;

/** Uses the testkit from Java. */
class JavaTest {

    private static final byte[] PING = "ping".getBytes(StandardCharsets.UTF_8);

    @Test
    void shouldBringTheMessageOverABadLine() {
        connectedPair(Faults.BAD_LINE, (pair, client, server) -> {
            server.postReceive(64);
            client.send(PING);
            assertEquals("ping", server.awaitReceive().getText());
            assertTrue(client.awaitSend().isSuccess());
            return null;
        });
    }

    @Test
    void shouldLetTheBlockCutTheWire() {
        connectedPair((pair, client, server) -> {
            pair.getFabric().partition(client.getContext().device(), server.getContext().device());
            client.send(PING);
            assertEquals(WorkCompletionStatus.RETRY_EXC_ERR, client.awaitSend().status());
            return null;
        });
    }

    @Test
    void shouldFailATestThatLeavesSomethingOpen() {
        connectedPair((pair, client, server) -> {
            CompletionQueue[] leaked = new CompletionQueue[1];
            AssertionError failure = assertThrows(
                    AssertionError.class, () -> leakCheck(() -> leaked[0] = client.getContext().completionQueue(1)));
            assertTrue(failure.getMessage().contains("JavaTest."), failure.getMessage());
            leaked[0].close();
            return null;
        });
    }
}
