package org.kverbs.cli.perf

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import org.kverbs.QueuePair
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.Received
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.read
import org.kverbs.coroutines.send
import org.kverbs.coroutines.sendWithImmediate
import org.kverbs.coroutines.write
import org.kverbs.dsl.RC
import kotlin.time.TimeSource

/**
 * An end of suspend functions: a coroutine for each message that is under way. They run on the thread that calls
 * [play], which polls for the dispatcher.
 */
internal class SuspendingPerfEnd(
    private val dispatcher: CompletionDispatcher,
    options: PerfOptions,
    private val wire: Wire,
) : PerfEnd(dispatcher.context, options) {
    private val queues =
        options.queuePairs.range.map {
            dispatcher.qp(pd, RC) {
                maxSendWr(options.depth)
                maxRecvWr(options.receives)
            }
        }
    override val queuePairs: List<QueuePair> = queues.map { it.queuePair }
    private val messages = queues.map { ArrayDeque<Deferred<Received>>() }
    private var isEnd = false

    override fun prepare(round: Round) {
        super.prepare(round)
        isEnd = false
        queues.indices.forEach(::postReceives)
    }

    private fun postReceives(queue: Int) {
        if (options.test.operation != PerfTest.Operation.SEND) return
        val messages = messages[queue]
        while (messages.size < options.receives) messages += queues[queue].postReceive(incoming(queue))
    }

    override fun play(
        round: Round,
        measured: Measured,
        counts: Counts,
    ) = dispatcher.run {
        val now = System.nanoTime()
        round.begin(now)
        val queuePairs = options.queuePairs.toLong()
        measured.begin(now, round.iterations * queuePairs, options.depth * queuePairs)
        val watch = launch(Dispatchers.Default) { watch() }
        when {
            !options.test.isLatency -> stream(round, measured, counts)
            !options.test.isPingPong -> if (round.leads) oneByOne(round, measured)
            round.leads -> lead(round, measured)
            else -> answer(round, measured)
        }
        watch.cancel()
    }

    private suspend fun lead(
        round: Round,
        measured: Measured,
    ) {
        var number = 0
        do {
            val begin = System.nanoTime()
            val isLast = round.isLast(number, begin)
            sendTurn(round, number, isLast)
            awaitMessage(round, number++)
            measured.add(System.nanoTime() - begin)
        } while (!isLast)
        measured.end(System.nanoTime())
    }

    private suspend fun answer(
        round: Round,
        measured: Measured,
    ) {
        var number = 0
        var begin = 0L
        do {
            awaitMessage(round, number)
            val now = System.nanoTime()
            if (number > 0) measured.add(now - begin)
            val isLast = if (round.marksEnd) isEnd else round.isLast(number, now)
            begin = now
            sendTurn(round, number++, isLast)
        } while (!isLast)
        measured.sent(number.toLong())
        measured.end(System.nanoTime())
    }

    private suspend fun sendTurn(
        round: Round,
        number: Int,
        isLast: Boolean,
    ) {
        if (options.test.operation == PerfTest.Operation.WRITE) stamp(round.size, round.stamp(number, isLast))
        send(0, round.size, isMarked = isLast && round.marksEnd)
        sent++
    }

    /** Sends one message, and returns when it is acknowledged or answered. */
    private suspend fun send(
        queue: Int,
        size: Int,
        isMarked: Boolean = false,
    ) {
        val qp = queues[queue]
        val message = outgoing(queue, size)
        when (options.test.operation) {
            PerfTest.Operation.SEND -> if (isMarked) qp.sendWithImmediate(message, END) else qp.send(message)
            PerfTest.Operation.WRITE -> qp.write(message, to = remote[queue])
            PerfTest.Operation.READ -> qp.read(remote[queue], into = message)
            PerfTest.Operation.ATOMIC -> qp.fetchAndAdd(remote[queue], add = 1)
        }
    }

    private suspend fun awaitMessage(
        round: Round,
        number: Int,
    ) {
        if (options.test.operation == PerfTest.Operation.SEND) {
            receive(0)
            return
        }
        val usual = round.stamp(number, isLast = false)
        val end = round.stamp(number, isLast = true)
        while (true) {
            val byte = lastByte(round.size)
            if (byte == usual || byte == end) break
            yield() // to the dispatcher, which polls
        }
        isEnd = round.marksEnd && Round.isEnd(lastByte(round.size))
        received++
    }

    private suspend fun receive(queue: Int) {
        val message = messages[queue].first().await()
        messages[queue].removeFirst()
        if (message.immediate != null) isEnd = true
        received++
        if (messages[queue].size <= options.receives / 2) postReceives(queue)
    }

    private suspend fun oneByOne(
        round: Round,
        measured: Measured,
    ) {
        var number = 0
        do {
            val begin = System.nanoTime()
            val isLast = round.isLast(number++, begin)
            send(0, round.size)
            measured.add(System.nanoTime() - begin)
            sent++
        } while (!isLast)
        measured.end(System.nanoTime())
    }

    private suspend fun stream(
        round: Round,
        measured: Measured,
        counts: Counts,
    ) = coroutineScope {
        val receiver = launch { if (round.receives) receiveAll(counts) }
        if (round.sends) {
            queues.indices.flatMap { queue -> sendAll(round, measured, queue) }.joinAll()
            measured.end(System.nanoTime())
            counts.sent(sent)
        }
        receiver.join()
    }

    /** The coroutines that send on one queue pair, each a message after the other. */
    private fun CoroutineScope.sendAll(
        round: Round,
        measured: Measured,
        queue: Int,
    ) = run {
        var next = 0
        var isOver = false
        List(options.depth) {
            launch {
                while (!isOver) {
                    isOver = round.isLast(next++, System.nanoTime())
                    send(queue, round.size)
                    measured.done(++sent, System.nanoTime())
                }
            }
        }
    }

    private suspend fun receiveAll(counts: Counts) =
        coroutineScope {
            var expected = Long.MAX_VALUE
            val isOver = CompletableDeferred<Unit>()

            fun check() {
                if (received >= expected) isOver.complete(Unit)
            }
            val receivers =
                queues.indices.map { queue ->
                    launch {
                        while (true) {
                            receive(queue)
                            check()
                        }
                    }
                }
            launch {
                while (expected == Long.MAX_VALUE) {
                    expected = counts.peerSent() ?: expected
                    if (expected == Long.MAX_VALUE) delay(1)
                }
                check()
            }
            isOver.await()
            receivers.forEach { it.cancel() }
        }

    /** Fails when the peer has died, or nothing comes any more. A timer for each message costs more than that. */
    private suspend fun watch() {
        var seen = -1L
        var since = TimeSource.Monotonic.markNow()
        while (true) {
            val now = sent + received
            if (now != seen) {
                since = TimeSource.Monotonic.markNow()
            } else {
                wire.requirePeer()
                if (since.elapsedNow() > options.timeout) {
                    throw Patience.silence(options.timeout, progress)
                }
            }
            seen = now
            delay(LOOK_MILLIS)
        }
    }

    private companion object {
        const val END = 1
        const val LOOK_MILLIS = 200L
    }
}
