package org.kverbs.cli.pingpong

import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * What the messages of one end hold, and what they should. The segments are of a message's size; iterations count from
 * 0.
 */
internal interface Contents {
    /** Whether what is sent lies in memory of its own, so that it can't be mistaken for what came. */
    val separate: Boolean get() = true

    /** Before the first message. */
    fun begin(outgoing: MemorySegment) = Unit

    /** Called with each message that came; throws [PingPongException] if it is wrong. */
    fun received(
        iteration: Int,
        incoming: MemorySegment,
    ) = Unit

    /** Writes the message that is to be sent; what came last is in [incoming] still. */
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
 * The server's. The first message tells who is there. Our client's is a pattern: the server awaits the next patterns
 * and sends back what came. A C client's is all 0x7b, and it sends back what comes from now on: so it gets patterns and
 * must return them.
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
