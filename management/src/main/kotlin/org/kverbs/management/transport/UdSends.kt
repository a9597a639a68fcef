package org.kverbs.management.transport

import org.kverbs.CompletionHandler
import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.RdmaException
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.Destination
import org.kverbs.dsl.TypedQueuePair
import org.kverbs.dsl.UdVerbs
import org.kverbs.dsl.modify
import org.kverbs.dsl.post
import org.kverbs.dsl.send
import java.lang.foreign.MemorySegment
import java.util.concurrent.locks.LockSupport
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private const val BATCH = 64
private const val PAUSE_NANOS = 20_000L
private val patience = 10.seconds

/**
 * The sending side of a [UdTransport]: places for [count] datagrams in the first bytes of [memory]. A thread that finds
 * no place takes the completions of earlier datagrams itself, so that no other thread is needed. Any thread can call.
 */
internal class UdSends(
    private val qp: TypedQueuePair<UdVerbs>,
    private val cq: CompletionQueue,
    private val memory: MemoryRegion,
    private val addresses: UdAddresses,
    private val count: Int,
    private val queueKey: Int,
) {
    private val lock = Any()
    private val free = IntArray(count) { it }
    private var freeCount = count
    private val used = arrayOfNulls<UdAddresses.Entry>(count)
    private val handler =
        CompletionHandler { completion ->
            giveBack(completion.workRequestId().toInt())
            if (!completion.isSuccess) mend()
        }

    /**
     * Posts a datagram.
     *
     * @throws MadTransportException if the device does not take it
     * @throws IllegalStateException if the queue pair is closed
     */
    fun send(
        mad: ByteArray,
        to: AddressAttributes,
        queuePair: Int,
    ) {
        val place = take()
        try {
            val entry = addresses.acquire(to)
            synchronized(lock) { used[place] = entry }
            val slice = memory.slice(place.toLong() * MAD_SIZE, MAD_SIZE.toLong())
            slice.memory().copyFrom(MemorySegment.ofArray(mad))
            val destination = Destination(entry.handle, queuePair, queueKey)
            qp.post { send(slice, destination, place.toLong()).signaled() }
        } catch (e: RdmaException) {
            giveBack(place)
            throw MadTransportException("${qp.queuePair.describe()} cannot send: ${e.message}", e)
        } catch (e: IllegalStateException) {
            giveBack(place)
            throw e
        }
    }

    private fun take(): Int {
        var end: TimeSource.Monotonic.ValueTimeMark? = null
        while (true) {
            try {
                cq.poll(handler, BATCH)
            } catch (e: RdmaException) {
                throw MadTransportException("${qp.queuePair.describe()} cannot go on after a failure: ${e.message}", e)
            }
            synchronized(lock) { if (freeCount > 0) return free[--freeCount] }
            val limit = end ?: (TimeSource.Monotonic.markNow() + patience).also { end = it }
            if (limit.hasPassedNow()) {
                throw MadTransportException("${qp.queuePair.describe()} has sent nothing for $patience: see its port")
            }
            LockSupport.parkNanos(PAUSE_NANOS)
        }
    }

    private fun giveBack(place: Int) {
        val entry =
            synchronized(lock) {
                free[freeCount++] = place
                used[place].also { used[place] = null }
            }
        entry?.let(addresses::release)
    }

    /** A datagram that failed stops the send queue, and costs no more than itself. */
    private fun mend() {
        if (qp.queuePair.query().state() == QueuePairState.SQE) qp.queuePair.modify { state(QueuePairState.RTS) }
    }
}
