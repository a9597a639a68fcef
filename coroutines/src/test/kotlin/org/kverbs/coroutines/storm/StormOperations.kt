package org.kverbs.coroutines.storm

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.delay
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.MemorySlice
import org.kverbs.coroutines.Received
import org.kverbs.coroutines.RegisteredBuffer
import org.kverbs.coroutines.batch
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.read
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.coroutines.sendWithImmediate
import org.kverbs.coroutines.write
import org.kverbs.dsl.write
import kotlin.random.Random

/**
 * The operations of a worker on one link. Every buffer is painted when it is taken, and checked when it is given back.
 */
class StormOperations(
    private val link: StormLink,
    private val here: StormEnd,
    private val there: StormEnd,
    slot: Int,
    private val ledger: StormLedger,
    private val random: Random,
) {
    private val at = StormEnd.at(slot)

    /** The owners whose paint the slot can have: the last write that is known to be done, and the writes after it. */
    private val writers = ArrayList<Long>(listOf(StormEnd.NOBODY))

    suspend fun run(
        kind: StormKind,
        id: StormId,
    ) {
        if (kind == StormKind.ADD) return link.use { add() }
        val pool = here.node.pool
        val taken = if (random.nextBoolean()) pool.tryTake(StormNode.BUFFER) else null
        (taken ?: pool.take(StormNode.BUFFER)).use { buffer ->
            StormPaint.put(buffer.memory, id.number)
            if (kind == StormKind.HOLD) hold() else link.use { exchange(kind, buffer, id) }
            if (kind != StormKind.RECEIVE && kind != StormKind.READ) intact(buffer, id)
        }
    }

    private suspend fun exchange(
        kind: StormKind,
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        when (kind) {
            StormKind.SEND -> send(buffer, id)
            StormKind.RECEIVE -> receive(buffer, id)
            StormKind.WRITE -> write(buffer, id)
            StormKind.READ -> read(buffer, id)
            else -> batch(buffer, id)
        }
    }

    /** Checks the rest of the paint that this operation put into its buffer. */
    private fun intact(
        buffer: RegisteredBuffer,
        id: StormId,
        from: Long = 0,
    ) {
        StormPaint.flaw(buffer.memory, id.number, from)?.let { ledger.violation("a buffer was reused too early: $it") }
    }

    private fun length(most: Long): Long = 8 * random.nextLong(1, most / 8 + 1)

    private suspend fun send(
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        val length = length(StormNode.BUFFER)
        here.sent.add(id.number)
        if (random.nextBoolean()) {
            here.qp.send(buffer, length)
        } else {
            here.qp.sendWithImmediate(buffer.slice(0, length), id.number.toInt())
        }
        here.acknowledged.add(id.number)
    }

    private suspend fun receive(
        buffer: RegisteredBuffer,
        id: StormId,
    ): Unit = if (random.nextBoolean()) took(here.qp.receive(buffer), buffer, id) else receivePosted(buffer, id)

    /** Receives with a posted receive. A caller that gives up has the message all the same if it arrived first. */
    @OptIn(ExperimentalCoroutinesApi::class) // getCompleted
    private suspend fun receivePosted(
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        val posted = here.qp.postReceive(buffer)
        val received =
            try {
                posted.await()
            } catch (e: CancellationException) {
                posted.cancel()
                withContext(NonCancellable) { posted.join() } // another thread can be completing it
                if (!posted.isCancelled) took(posted.getCompleted(), buffer, id)
                throw e
            }
        took(received, buffer, id)
    }

    private fun took(
        received: Received,
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        val message = buffer.memory.asSlice(0, received.length)
        val sender = StormPaint.owner(message)
        StormPaint.flaw(message, sender)?.let { ledger.violation("a message came damaged: $it") }
        if (sender !in
            there.sent
        ) {
            ledger.violation("a message of ${StormId(sender)} came, which sent none on this link")
        }
        if (!there.delivered.add(sender)) ledger.violation("the message of ${StormId(sender)} came twice")
        if (received.immediate != null && received.immediate != sender.toInt()) {
            ledger.violation("${received.immediate} came with the message of ${StormId(sender)}")
        }
        intact(buffer, id, received.length)
    }

    private suspend fun write(
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        writers.add(id.number)
        here.qp.write(buffer.slice(0, StormEnd.SLOT), there.remote, at)
        wrote(id)
    }

    /** Writes the same bytes several times; only the completions differ. */
    private suspend fun batch(
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        writers.add(id.number)
        val local: MemorySlice = buffer.slice(0, StormEnd.SLOT)
        val count = random.nextInt(1, StormEnd.SENDS + 1)
        here.qp.batch { repeat(count) { write(local, there.remote, at) } }
        wrote(id)
    }

    private fun wrote(id: StormId) {
        writers.clear()
        writers.add(id.number)
    }

    private suspend fun read(
        buffer: RegisteredBuffer,
        id: StormId,
    ) {
        here.qp.read(there.remote, buffer.slice(0, StormEnd.SLOT), at)
        val writer = StormPaint.owner(buffer.memory)
        if (writer !in
            writers
        ) {
            ledger.violation("read paint of ${StormId(writer)} where ${writers.map(::StormId)} wrote")
        }
        StormPaint.flaw(buffer.memory, writer, 0, StormEnd.SLOT)?.let { ledger.violation("a read brought damage: $it") }
        intact(buffer, id, StormEnd.SLOT)
    }

    private suspend fun add() {
        here.uncertain.incrementAndGet()
        val before = here.qp.fetchAndAdd(there.remote, 1)
        if (!here.found.add(before)) ledger.violation("two additions found $before")
        here.uncertain.decrementAndGet()
    }

    /** Holds a buffer without using it, to find earlier owners that still write into it. */
    private suspend fun hold() {
        if (random.nextBoolean()) delay(1) else yield()
    }
}
