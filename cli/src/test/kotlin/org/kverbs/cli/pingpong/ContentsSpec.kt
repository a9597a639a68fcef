package org.kverbs.cli.pingpong

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import java.lang.foreign.MemorySegment

private const val SIZE = 9000

/** One end's messages, without a device in between. */
private class Side(
    private val contents: Contents,
    size: Int = SIZE,
) {
    private val outgoing = ByteArray(size)
    private var incoming = ByteArray(size)

    fun send(iteration: Int): ByteArray {
        contents.write(iteration, MemorySegment.ofArray(incoming), MemorySegment.ofArray(outgoing))
        return outgoing.copyOf()
    }

    fun receive(
        iteration: Int,
        message: ByteArray,
    ) {
        incoming = message
        contents.received(iteration, MemorySegment.ofArray(incoming))
    }
}

/** The buffer of a C program, with or without -c. */
private fun c(checks: Boolean) = ByteArray(SIZE) { if (checks && it % 4096 == 0) 0 else 0x7b }

class ContentsSpec :
    FunSpec({
        listOf(1, 2, SIZE).forEach { size ->
            test("should agree with themselves on messages of $size bytes, and change them each time") {
                val client = Side(CheckedClientContents(size), size)
                val server = Side(CheckedServerContents(size), size)
                val seen = mutableSetOf<List<Byte>>()
                repeat(600) {
                    val message = client.send(it)
                    seen += message.asList()
                    server.receive(it, message)
                    client.receive(it, server.send(it))
                }
                if (size > 2) seen.size shouldBe 251
                if (size == 2) seen.size shouldBeGreaterThan 100
            }
        }

        test("should begin each page with 0, as a C server with -c wants it") {
            repeat(300) { iteration ->
                val message = Side(CheckedClientContents(SIZE)).send(iteration)
                listOf(0, 4096, 8192).map { message[it].toInt() } shouldBe listOf(0, 0, 0)
            }
        }

        test("should take a client's own message for wrong when it should be the next one's echo") {
            val client = Side(CheckedClientContents(SIZE))
            val first = client.send(0)
            client.receive(0, first)
            client.send(1)
            shouldThrow<PingPongException> { client.receive(1, first) }.message shouldContain "message 1 is"
        }

        listOf(true, false).forEach { checks ->
            test("should know a C client ${if (checks) "with" else "without"} -c, and want its own messages back") {
                val server = Side(CheckedServerContents(SIZE))
                server.receive(0, c(checks))
                val first = server.send(0)
                first shouldNotBe c(checks)
                server.receive(1, first)
                val second = server.send(1)
                second shouldNotBe first
                shouldThrow<PingPongException> { server.receive(2, first) }.message shouldContain "byte 1 of message 2"
            }
        }

        test("should name the first byte of a C client's message that is wrong") {
            val message = c(true).also { it[5000] = 1 }
            shouldThrow<PingPongException> { Side(CheckedServerContents(SIZE)).receive(0, message) }
                .message shouldContain "byte 5000 of message 0 is 0x01, not 0x7b"
        }

        test("should name the byte of the last page that is wrong in an echo") {
            val client = Side(CheckedClientContents(SIZE))
            val echo = client.send(0).also { it[SIZE - 1] = (it[SIZE - 1] + 1).toByte() }
            shouldThrow<PingPongException> { client.receive(0, echo) }.message shouldContain
                "byte ${SIZE - 1} of message 0"
        }
    })
