package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.time.Duration

/** A [PeerBench] for a peer that misbehaves: its memory is painted, and a second queue pair has an honest peer. */
internal class GuardedBench(
    type: QueuePairType = QueuePairType.RC,
    features: Set<Feature> = emptySet(),
) : PeerBench(type, features = features) {
    private val neighbourCq = context.completionQueue(8)
    private val neighbour = qp.protectionDomain().queuePair(QueuePairInitAttributes.of(QueuePairType.RC, neighbourCq))
    private val meeting = mr.slice(mr.length() - BYTES, BYTES.toLong())
    private var exchanged = 0

    init {
        neighbour.connect(QueuePairEndpoint(0, FuzzSpec.PEER, 3, 0, MTU, 0))
        paint()
    }

    /** Paints all memory as untouched. */
    fun paint() {
        mr.memory().fill(UNTOUCHED)
    }

    /**
     * Checks the state, that no byte was written outside these ranges of the region, and that the honest peer is
     * served.
     */
    fun unharmed(
        state: QueuePairState,
        vararg writable: LongRange,
    ) {
        qp.state() shouldBe state
        val bytes = mr.memory().toArray(JAVA_BYTE)
        val touched = bytes.indices.filter { at -> bytes[at] != UNTOUCHED && writable.none { at.toLong() in it } }
        withClue("bytes that were written") { touched.shouldBeEmpty() }
        exchange()
        meeting.memory().fill(UNTOUCHED)
    }

    /** Takes the completions: id and status. */
    fun results(): List<kotlin.Pair<Long, WorkCompletionStatus>> = poll().map { it.workRequestId() to it.status() }

    /** Checks that the queue pair is in the error state and silent. */
    fun ended(writable: LongRange = LongRange.EMPTY) {
        unharmed(QueuePairState.ERR, writable)
        arrive(RC_ACK, 0) { syndrome = NAK_SEQUENCE }.shouldBeEmpty()
        pass(LONG).shouldBeEmpty()
    }

    /** Lets the honest peer write to the end of the region, and the device write back. */
    private fun exchange() {
        arrive(RC_WRITE_ONLY, exchanged) {
            destinationQp = neighbour.number()
            ackRequest = true
            payloadLength = BYTES
            dmaLength = BYTES
            remoteAddress = meeting.address()
        } shouldBe listOf(Sent(RC_ACK, exchanged++, ACK, 0))
        val request = during { neighbour.postWith { it.write(1, mr.remote()).from(meeting).signaled() } }.single()
        arrive(RC_ACK, request.psn) {
            destinationQp = neighbour.number()
            syndrome = ACK
        }.shouldBeEmpty()
        val batch = WorkCompletions(8)
        neighbourCq.poll(batch) shouldBe 1
        batch.get(0).status() shouldBe WorkCompletionStatus.SUCCESS
    }

    companion object {
        const val MTU = 256

        /** The syndrome of an acknowledgement. */
        const val ACK = 0x1f

        /** The byte that fills untouched memory. */
        const val UNTOUCHED: Byte = 0x33
        private const val BYTES = 8
        private const val NAK_SEQUENCE = 0x60

        /** Long enough for all retries of a queue pair whose timeout is 4 ms. */
        private val LONG = Duration.ofMillis(100)
    }
}
