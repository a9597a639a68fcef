package org.kverbs.cli.perf

import org.kverbs.CompletionHandler
import org.kverbs.Context
import org.kverbs.QueuePair
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.poll
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp

/** An end that posts and polls plain verbs in one thread. After warm-up a message allocates nothing. */
internal class PolledPerfEnd(
    device: Context,
    options: PerfOptions,
    wire: Wire,
) : PerfEnd(device, options) {
    private val cq = device.completionQueue { entries(options.queuePairs * (options.depth + options.receives)) }
    override val queuePairs: List<QueuePair> =
        options.queuePairs.range.map {
            pd.qp {
                type(QueuePairType.RC)
                cq(cq)
                maxSendWr(options.depth)
                maxRecvWr(options.receives)
            }
        }
    private val handler = CompletionHandler(::completed)
    private val patience = Patience(wire, options.timeout) { progress }
    private val receivesPosted = IntArray(options.queuePairs)
    private val silent = Array(options.queuePairs) { SendRequests() }
    private val signaled = Array(options.queuePairs) { SendRequests() }
    private val last = Array(options.queuePairs) { SendRequests() }
    private val posted = LongArray(options.queuePairs)
    private val completed = LongArray(options.queuePairs)
    private val finished = BooleanArray(options.queuePairs)
    private var isEnd = false

    override fun prepare(round: Round) {
        super.prepare(round)
        posted.fill(0)
        completed.fill(0)
        isEnd = false
        for (queue in queuePairs.indices) {
            write(silent[queue], round.size, queue)
            write(signaled[queue], round.size, queue).signaled()
            write(last[queue], round.size, queue, isMarked = round.marksEnd).signaled()
            postReceives(queue)
        }
    }

    private fun write(
        requests: SendRequests,
        size: Int,
        queue: Int,
        isMarked: Boolean = false,
    ): SendRequests {
        requests.clear()
        val there = remote[queue]
        val id = queue.toLong()
        return when (options.test.operation) {
            PerfTest.Operation.SEND -> {
                (if (isMarked) requests.sendWithImmediate(id, END) else requests.send(id)).from(outgoing(queue, size))
            }

            PerfTest.Operation.WRITE -> {
                requests.write(id, there).from(outgoing(queue, size))
            }

            PerfTest.Operation.READ -> {
                requests.read(id, there).into(outgoing(queue, size))
            }

            PerfTest.Operation.ATOMIC -> {
                requests.fetchAndAdd(id, there, 1).into(outgoing(queue, size))
            }
        }
    }

    private fun postReceives(queue: Int) {
        if (options.test.operation != PerfTest.Operation.SEND) return
        while (receivesPosted[queue] < options.receives) {
            queuePairs[queue].postReceive(incoming(queue), id = RECEIVE or queue.toLong())
            receivesPosted[queue]++
        }
    }

    private fun completed(completion: WorkCompletion) {
        completion.orThrow()
        val id = completion.workRequestId()
        val queue = id.toInt()
        if (id and RECEIVE == 0L) {
            val now = minOf(completed[queue] + options.moderation, posted[queue])
            sent += now - completed[queue]
            completed[queue] = now
        } else {
            received++
            if (completion.hasImmediate()) isEnd = true
            if (--receivesPosted[queue] <= options.receives / 2) postReceives(queue)
        }
    }

    private fun poll(): Boolean {
        val any = cq.poll(BATCH, handler) > 0
        if (any) patience.reset()
        return any
    }

    override fun play(
        round: Round,
        measured: Measured,
        counts: Counts,
    ) {
        val now = System.nanoTime()
        round.begin(now)
        val queuePairs = options.queuePairs.toLong()
        measured.begin(now, round.iterations * queuePairs, options.depth * queuePairs)
        when {
            !options.test.isLatency -> stream(round, measured, counts)
            !options.test.isPingPong -> if (round.leads) oneByOne(round, measured)
            round.leads -> lead(round, measured)
            else -> answer(round, measured)
        }
    }

    /** The client of a test in which both ends send by turns. */
    private fun lead(
        round: Round,
        measured: Measured,
    ) {
        var number = 0
        do {
            val begin = System.nanoTime()
            val isLast = round.isLast(number, begin)
            postTurn(round, number, isLast)
            awaitMessage(round, number++)
            measured.add(System.nanoTime() - begin)
        } while (!isLast)
        awaitSends()
        measured.end(System.nanoTime())
    }

    /** The server of such a test. It times from its own message to the next one. */
    private fun answer(
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
            postTurn(round, number++, isLast)
        } while (!isLast)
        awaitSends()
        measured.sent(number.toLong())
        measured.end(System.nanoTime())
    }

    private fun postTurn(
        round: Round,
        number: Int,
        isLast: Boolean,
    ) {
        awaitSends()
        if (options.test.operation == PerfTest.Operation.WRITE) stamp(round.size, round.stamp(number, isLast))
        post(if (isLast) last[0] else signaled[0], 0)
    }

    private fun awaitMessage(
        round: Round,
        number: Int,
    ) {
        if (options.test.operation == PerfTest.Operation.SEND) {
            while (received <= number) if (!poll()) patience.pause()
            return
        }
        val usual = round.stamp(number, isLast = false)
        val end = round.stamp(number, isLast = true)
        while (true) {
            val byte = lastByte(round.size)
            if (byte == usual || byte == end) break
            if (!poll()) patience.pause()
        }
        isEnd = round.marksEnd && Round.isEnd(lastByte(round.size))
        received++
        patience.reset()
    }

    private fun awaitSends() {
        while (sent < posted[0]) if (!poll()) patience.pause()
    }

    /** One message after the other, to which the peer's device answers. */
    private fun oneByOne(
        round: Round,
        measured: Measured,
    ) {
        var number = 0
        do {
            val begin = System.nanoTime()
            val isLast = round.isLast(number++, begin)
            post(signaled[0], 0)
            awaitSends()
            measured.add(System.nanoTime() - begin)
        } while (!isLast)
        measured.end(System.nanoTime())
    }

    /** As many messages at a time as the queues hold; receives those of the peer, if there are any. */
    private fun stream(
        round: Round,
        measured: Measured,
        counts: Counts,
    ) {
        var expected = if (round.receives) Long.MAX_VALUE else 0
        finished.fill(!round.sends)
        var isSending = round.sends
        while (isSending || received < expected) {
            if (isSending) fill(round)
            if (poll()) {
                if (isSending) measured.done(sent, System.nanoTime())
            } else {
                if (expected == Long.MAX_VALUE) expected = counts.peerSent() ?: expected
                patience.pause()
            }
            if (isSending && finished.all { it } && sent == posted.sum()) {
                isSending = false
                measured.end(System.nanoTime())
                counts.sent(sent)
            }
        }
    }

    /** Posts all that there is room for. */
    private fun fill(round: Round) {
        val now = System.nanoTime()
        for (queue in queuePairs.indices) {
            while (!finished[queue] && posted[queue] - completed[queue] < options.depth) {
                val number = posted[queue].toInt()
                finished[queue] = round.isLast(number, now)
                val isSignaled = finished[queue] || (number + 1) % options.moderation == 0
                post(if (isSignaled) signaled[queue] else silent[queue], queue)
            }
        }
    }

    private fun post(
        requests: SendRequests,
        queue: Int,
    ) {
        posted[queue]++
        queuePairs[queue].post(requests)
    }

    private companion object {
        const val RECEIVE = 1L shl 32
        const val END = 1
        const val BATCH = 64
    }
}
