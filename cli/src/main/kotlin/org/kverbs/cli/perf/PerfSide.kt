package org.kverbs.cli.perf

import org.HdrHistogram.Histogram
import org.kverbs.Context
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.Waiting
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.completionDispatcher
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/**
 * One end of a measurement from the meeting to the last row.
 *
 * @param leads true for the client
 */
internal class PerfSide(
    private val device: Context,
    private val options: PerfOptions,
    private val wire: Wire,
    private val leads: Boolean,
    private val listener: PerfListener,
) {
    private val mtu = options.mtu?.bytes() ?: device.queryPort(options.devicePort).activeMtu().bytes()
    private val meeting =
        if (options.asPerftest) PerftestMeeting(wire, leads, options, mtu) else OwnMeeting(wire, options.rules())

    /** Runs the test; the listener gets its rows. */
    fun run() {
        meeting.greet()
        if (options.waiting == Waiting.POLLED) {
            run(PolledPerfEnd(device, options, wire))
        } else {
            dispatcher().use { run(SuspendingPerfEnd(it, options, wire)) }
        }
    }

    private fun dispatcher(): CompletionDispatcher =
        device.completionDispatcher {
            callerPolls()
            strategy(options.waiting.strategy)
        }

    private fun run(end: PerfEnd) {
        ManagedConnections(device, options, wire, leads).use {
            connect(end, it)
            play(end)
        }
    }

    private fun play(end: PerfEnd) {
        if (options.warmUpMessages > 0) round(end, options.sizes.first(), options.warmUpMessages, isWarmUp = true)
        options.sizes.forEach { round(end, it, options.iterations, isWarmUp = false) }
        meeting.part()
    }

    private fun connect(
        end: PerfEnd,
        managed: ManagedConnections,
    ) {
        val limits = device.queryDevice()
        val reads = minOf(limits.maxQpRdAtom(), limits.maxQpInitRdAtom(), MOST_READS).coerceAtLeast(1)
        val path = PerfEnd.path(options)
        val offered = end.offered()
        val local = end.queuePairs.mapIndexed { i, qp -> Meeting.Place(qp.endpoint(path), offered[i], reads) }
        val peer = meeting.exchange(local)
        peer.forEach { requireRoom(it.memory) }
        end.meet(peer.map { it.memory })
        listener.connected(local.zip(peer))
        val common = minOf(reads, peer.minOf { it.reads }).coerceAtLeast(1)
        if (options.byConnectionManager) {
            managed.connect(end.queuePairs, common)
        } else {
            end.queuePairs.zip(peer) { qp, there -> qp.connect(there.endpoint, PerfEnd.path(options, common)) }
        }
        meeting.connected()
    }

    /** Refuses memory that is too short. Otherwise the first request throws, as for a fault of this program. */
    private fun requireRoom(theirs: RemoteMemory) {
        if (theirs.length() >= options.longest) return
        throw PerfException("the peer has memory of ${theirs.length()} bytes for messages of ${options.longest} bytes")
    }

    private fun round(
        end: PerfEnd,
        size: Int,
        iterations: Int,
        isWarmUp: Boolean,
    ) {
        val test = options.test
        val sends = leads || options.bothWays || test.isPingPong
        val round =
            Round(
                size,
                iterations,
                if (isWarmUp) null else options.duration,
                leads != (test == PerfTest.WRITE_LAT && meeting.serverWritesFirst),
                sends,
                receives = test == PerfTest.SEND_BW && (!leads || options.bothWays),
                marksEnd = meeting.isOurs,
            )
        val measured = Measured(test.isPingPong)
        if (!isWarmUp) listener.begun(size, measured, isMeasuring = sends)
        end.prepare(round)
        meeting.ready()
        if (sends || round.receives) play(end, round, measured)
        val ours = if (sends) PerfRow.of(test, size, measured) else null
        val theirs = meeting.report(ours, longest(round))
        if (isWarmUp) return
        val row = if (leads || !meeting.isOurs) ours ?: theirs else theirs ?: ours
        val both = if (options.bothWays && ours is PerfRow.Bandwidth) sum(ours, theirs) else row
        listener.row(both, if (test.isLatency && sends) measured.times else null)
    }

    /**
     * How long an end that has no part in the messages waits for them: with retries on a slow network, too. Those that
     * are under way when the time of a test is over still count.
     */
    private fun longest(round: Round): Duration {
        val messages = options.queuePairs.toLong() * if (round.duration == null) round.iterations else options.depth
        val each = SLOWEST_MESSAGE + (round.size / SLOWEST_BYTES_A_SECOND).seconds
        return options.timeout + (round.duration ?: Duration.ZERO) + each * messages.toDouble()
    }

    /**
     * Plays a round. A peer that has acknowledged a message in it, and acknowledges no more, has ended. The advice of
     * the status, which is about the set-up, does not fit then. With both ends in one process the other end's failure
     * says more.
     */
    private fun play(
        end: PerfEnd,
        round: Round,
        measured: Measured,
    ) {
        try {
            end.play(round, measured, counts(round))
        } catch (e: WorkCompletionException) {
            val isLost = e.status() == WorkCompletionStatus.RETRY_EXC_ERR && end.isAcknowledged
            if (!isLost || options.peer is Peer.Own) throw e
            throw PerfException(
                "the peer at ${wire.peerAddress.hostAddress} does not answer any more, after ${end.progress}: it was " +
                    "ended or stopped, or the network to it is down",
                e,
            )
        }
    }

    private fun sum(
        ours: PerfRow.Bandwidth,
        theirs: PerfRow?,
    ) = if (theirs is PerfRow.Bandwidth) ours + theirs else ours

    private fun counts(round: Round) =
        object : Counts {
            private val isOpen = options.test == PerfTest.SEND_BW && round.duration != null

            override fun sent(messages: Long) {
                if (isOpen) meeting.tellSent(messages)
            }

            override fun peerSent() = if (isOpen) meeting.peerSent() else round.iterations.toLong() * options.queuePairs
        }

    private companion object {
        /** perftest's own number is the device's; more are under way at no device here. */
        const val MOST_READS = 16

        val SLOWEST_MESSAGE = 10.milliseconds
        const val SLOWEST_BYTES_A_SECOND = 1e7
    }
}
