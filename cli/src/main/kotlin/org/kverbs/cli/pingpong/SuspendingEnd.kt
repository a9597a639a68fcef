package org.kverbs.cli.pingpong

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.Received
import org.kverbs.coroutines.activate
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.send
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.Destination
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.RC
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.UC
import org.kverbs.dsl.UD
import kotlin.time.TimeSource

/**
 * An end of suspend functions. A new end can receive. Call [connect], then [start].
 *
 * @param scope of its coroutines; those that wait for the first messages begin at once
 * @param isWatched true if this end fails when no message comes any more; otherwise the polling thread checks that
 */
internal class SuspendingEnd(
    private val dispatcher: CompletionDispatcher,
    scope: CoroutineScope,
    options: PingPongOptions,
    contents: Contents,
    lead: Int,
    private val isWatched: Boolean,
) : PingPongEnd(dispatcher.context, options, contents, lead) {
    private val coroutines = CoroutineScope(scope.coroutineContext + dispatcher.coroutineDispatcher)
    private val messages = ArrayDeque<Deferred<Received>>()
    private val queue = if (options.type == QueuePairType.UD) Datagrams() else Connection()

    override val address: QueuePairEndpoint = queue.qp.endpoint(path)

    init {
        queue.qp.queuePair.init(path)
        awaitMessages()
    }

    override fun connect(remote: QueuePairEndpoint) = queue.connect(remote)

    /** Begins the game, on the thread that polls for the dispatcher: to send and receive, once each round. */
    fun start(): Job = coroutines.launch { play() }

    private suspend fun play() {
        val watch = if (isWatched) coroutines.launch(Dispatchers.Default) { watch() } else null
        startClock()
        if (lead > 0) receive()
        repeat(rounds) {
            if (messages.first().isCompleted) {
                throw PingPongException("the peer sent a message without waiting for an answer")
            }
            prepareMessage()
            queue.send()
            sent++
            if (received < rounds) receive()
        }
        stopClock()
        watch?.cancel()
    }

    // Inline: each call of a suspend function that goes on after a call allocates an object.
    private suspend inline fun receive() {
        take(messages.removeFirst().await().length)
        if (messages.size <= 1) awaitMessages()
    }

    private fun awaitMessages() {
        while (messages.size < options.receiveDepth) messages += queue.qp.postReceive(incoming)
    }

    /**
     * Fails when no message comes, as [Rally] does for polling ends. A timer for each message costs more than the
     * message.
     */
    private suspend fun watch() {
        var seen = -1
        var since = TimeSource.Monotonic.markNow()
        while (true) {
            val now = sent + received
            if (now != seen) since = TimeSource.Monotonic.markNow()
            seen = now
            if (since.elapsedNow() > options.timeout) throw silence(options.timeout, listOf(this))
            delay(options.timeout / LOOKS)
        }
    }

    /** The functions that differ with the type of the queue pair. */
    private interface Queue {
        val qp: AsyncQueuePair<ReceiveVerbs>

        fun connect(remote: QueuePairEndpoint)

        suspend fun send()
    }

    private fun settings(): QueuePairSettings.() -> Unit =
        {
            maxSendWr(1)
            maxRecvWr(options.receiveDepth)
        }

    private inner class Connection : Queue {
        override val qp: AsyncQueuePair<ConnectedVerbs> =
            if (options.type == QueuePairType.RC) {
                dispatcher.qp(pd, RC, block = settings())
            } else {
                dispatcher.qp(pd, UC, block = settings())
            }

        override fun connect(remote: QueuePairEndpoint) = qp.connect(remote, path)

        override suspend fun send() = qp.send(outgoing)
    }

    private inner class Datagrams : Queue {
        override val qp = dispatcher.qp(pd, UD, block = settings())
        private lateinit var peer: Destination

        override fun connect(remote: QueuePairEndpoint) {
            qp.activate(path)
            peer = Destination(qp.queuePair.addressHandle(remote, path), remote.queuePairNumber(), remote.qkey())
        }

        override suspend fun send() = qp.send(outgoing, peer)
    }

    private companion object {
        const val LOOKS = 10
    }
}
