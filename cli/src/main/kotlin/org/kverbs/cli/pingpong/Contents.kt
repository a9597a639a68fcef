package org.kverbs.cli.pingpong

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * Writes the messages that one end sends, and checks those that it receives. Each segment has the size of a message;
 * iterations count from 0.
 */
internal interface Contents {
    /** True if sent messages have memory of their own, so that a sent message is never taken for a received one. */
    val separate: Boolean get() = true

    /** Fills the memory for sent messages before the first one. */
    fun begin(outgoing: MemorySegment) = Unit

    /** Checks a received message; throws [PingPongException] if it is wrong. */
    fun received(
        iteration: Int,
        incoming: MemorySegment,
    ) = Unit

    /** Writes the next message into [outgoing]; [incoming] still has the last received message. */
    fun write(
        iteration: Int,
        incoming: MemorySegment,
        outgoing: MemorySegment,
    ) = Unit
}

/** One buffer for both directions, as in C: after the first message each end sends what it got. */
internal object EchoedContents : Contents {
    override val separate get() = false

    override fun begin(outgoing: MemorySegment) {
        outgoing.fill(Patterns.C_FILL)
    }
}

/** The client's: every message is another one, and the server must send back each byte of it. */
internal class CheckedClientContents(
    size: Int,
) : Contents {
    private val patterns = Patterns(size)

    override fun write(
        iteration: Int,
        incoming: MemorySegment,
        outgoing: MemorySegment,
    ) {
        outgoing.copyFrom(patterns.of(iteration))
    }

    override fun received(
        iteration: Int,
        incoming: MemorySegment,
    ) = requireSame(iteration, incoming, patterns.of(iteration))
}

/**
 * Checks messages at the server. The first message shows which program the client is. The client of kverbs sends
 * patterns, which the server checks and sends back. The client of rdma-core sends bytes of 0x7b first, and then sends
 * back each message that it gets; the server sends it patterns and checks what comes back.
 */
internal class CheckedServerContents(
    size: Int,
) : Contents {
    private val patterns = Patterns(size)
    private var clientEchoes = false

    override fun received(
        iteration: Int,
        incoming: MemorySegment,
    ) {
        if (iteration == 0 && incoming.mismatch(patterns.of(0)) >= 0) {
            clientEchoes = true
            requireSame(0, incoming, patterns.firstOfC(incoming))
        } else {
            requireSame(iteration, incoming, patterns.of(if (clientEchoes) iteration - 1 else iteration))
        }
    }

    override fun write(
        iteration: Int,
        incoming: MemorySegment,
        outgoing: MemorySegment,
    ) {
        outgoing.copyFrom(if (clientEchoes) patterns.of(iteration) else incoming)
    }
}

private fun requireSame(
    iteration: Int,
    incoming: MemorySegment,
    expected: MemorySegment,
) {
    val at = incoming.mismatch(expected)
    if (at < 0) return
    val (got, wanted) = listOf(incoming, expected).map { it.get(JAVA_BYTE, at).toHexString() }
    throw PingPongException(
        "invalid data: byte $at of message $iteration is 0x$got, not 0x$wanted; do both ends check (-c)?",
    )
}
