package org.kverbs.testkit.kotest

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.should
import io.kotest.matchers.shouldNot
import io.kotest.matchers.string.shouldContain
import org.kverbs.WorkCompletionStatus.LOC_LEN_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.testkit.connectedPair

class MatchersSpec :
    FunSpec({
        test("should match the message that came, and show the difference") {
            connectedPair { client, server ->
                server.postReceive(64)
                client.send("ping".encodeToByteArray())
                client.awaitSend() should haveStatus(SUCCESS)
                val message = server.awaitReceive()
                message should haveText("ping")
                message shouldNot haveText("pong")
                message should haveBytes("ping".encodeToByteArray())
                message shouldNot haveBytes(ByteArray(4))
                shouldThrow<AssertionError> { message should haveText("pong") }.message shouldContain "pong"
            }
        }

        test("should match no message whose receive failed") {
            connectedPair { client, server ->
                server.postReceive(2)
                client.send("ping".encodeToByteArray())
                client.awaitSend() shouldNot haveStatus(SUCCESS)
                val message = server.awaitReceive()
                message.completion should haveStatus(LOC_LEN_ERR)
                shouldThrow<AssertionError> { message should haveText("") }.message shouldContain "LOC_LEN_ERR"
            }
        }
    })
