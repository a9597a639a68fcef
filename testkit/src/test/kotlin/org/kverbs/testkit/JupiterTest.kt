package org.kverbs.testkit

import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import org.kverbs.Context
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.dsl.openDevice
import org.kverbs.embedded.Faults

/** Uses the testkit with JUnit, without Kotest's runner. */
class JupiterTest {
    @Test
    fun `should bring the message over a bad line`() {
        connectedPair(Faults.BAD_LINE) { client, server ->
            server.postReceive(64)
            client.send("ping".encodeToByteArray())
            server.awaitReceive() shouldHaveText "ping"
            client.awaitSend().shouldBeSuccessful()
        }
    }

    @Test
    fun `should fail with JUnit's own assertions or the testkit's`() {
        connectedPair { client, server ->
            fabric.kill(server.context.device())
            client.send("anybody?".encodeToByteArray())
            val completion = client.awaitSend()
            assertEquals(RETRY_EXC_ERR, completion.status())
            assertThrows<AssertionError> { completion.shouldBeSuccessful() }
        }
    }

    @Test
    fun `should fail a test that leaves something open, and show where it was opened`() {
        lateinit var leaked: Context
        val failure = assertThrows<AssertionError> { leakCheck { leaked = forgetful() } }
        assertTrue(failure.message.orEmpty().contains("JupiterTest.forgetful"), failure.message)
        leaked.close()
        leakCheck { openDevice("embedded0").use { assertEquals("embedded0", it.device().name()) } }
    }

    private fun forgetful(): Context = openDevice("embedded0")
}
