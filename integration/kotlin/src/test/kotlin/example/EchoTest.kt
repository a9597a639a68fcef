package example

import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.extension.ExtendWith
import org.kverbs.testkit.connectedPair
import org.kverbs.testkit.junit.RdmaExtension

@ExtendWith(RdmaExtension::class)
class EchoTest {
    @Test
    fun `should bring the message`() {
        connectedPair { client, server ->
            server.postReceive(64)
            client.send("ping".encodeToByteArray())
            assertEquals("ping", server.awaitReceive().text)
        }
    }
}
