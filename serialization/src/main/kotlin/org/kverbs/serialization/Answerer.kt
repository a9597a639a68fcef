package org.kverbs.serialization

import kotlinx.coroutines.CompletableJob
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.RdmaException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/** Answers the peer's requests, each in a coroutine of its own. */
internal class Answerer(
    background: CoroutineScope,
    private val settings: RequestsBuilder,
    private val send: suspend (Frame) -> Unit,
) {
    private val scope = CoroutineScope(background.coroutineContext + SupervisorJob(background.coroutineContext.job))
    private val running = ConcurrentHashMap<Long, Running>()
    private val unanswered = AtomicInteger()

    /**
     * Limits the requests whose answers are not sent yet. An answer that waits for room at the peer no longer counts as
     * the peer's request, but takes memory here: the peer must take some answers before this side reads more requests.
     */
    private val room = Semaphore(2 * settings.maxInFlight)

    private class Running(
        val job: CompletableJob,
        credits: Int,
    ) {
        val credits = ItemCredits(credits)

        /** True if the connection failed while an item was being sent. */
        @Volatile
        var isLost = false
    }

    /** Begins to answer a request; suspends while the peer has too many answers to take. */
    suspend fun begin(request: Frame.Request) {
        if (unanswered.incrementAndGet() > settings.maxInFlight) {
            throw RequestProtocolException("the peer has more than ${settings.maxInFlight} requests under way")
        }
        val one = Running(Job(scope.coroutineContext.job), request.credits)
        if (running.putIfAbsent(request.id, one) != null) {
            throw RequestProtocolException("the peer has two requests ${request.id} under way")
        }
        room.acquire()
        scope.launch {
            try {
                answer(request, one)
            } finally {
                one.job.complete()
                room.release()
            }
        }
    }

    private suspend fun answer(
        request: Frame.Request,
        one: Running,
    ) {
        var failure: Throwable? = null
        val last =
            try {
                handle(request, one)
            } catch (e: Throwable) {
                // an Error of one handler must not end the others
                currentCoroutineContext().ensureActive()
                if (!one.job.isCancelled && !one.isLost) failure = e
                failed(request, one, e)
            }
        // From here on the peer can receive the end of this request, and make another one in its place.
        running.remove(request.id)
        unanswered.decrementAndGet()
        quietly {
            try {
                send(last)
            } catch (e: IllegalArgumentException) {
                send(Frame.Failure(request.id, Frame.Failure.Kind.FAILED, "the answer can't be sent: ${e.message}"))
            }
        }
        if (failure != null && failure !is MessageDecodingException && failure !is RefusedRequestException) {
            settings.onFailure(request.method, failure)
        }
    }

    private suspend fun handle(
        request: Frame.Request,
        one: Running,
    ): Frame {
        val handler = settings.handlers[request.method] ?: refuse(request.method)
        return withContext(one.job) {
            withTimeoutOrNull(request.timeout) {
                handler.answer(request, settings.format) { item ->
                    one.credits.take()
                    sendItem(one, Frame.Item(request.id, item))
                }
            }
        } ?: Frame.Failure(request.id, Frame.Failure.Kind.TIMED_OUT, "")
    }

    /** Sends an item; marks a failure of the connection, which is not one of the handler. */
    private suspend fun sendItem(
        one: Running,
        item: Frame.Item,
    ) {
        try {
            send(item)
        } catch (e: RdmaException) {
            one.isLost = true
            throw e
        }
    }

    private fun refuse(method: String): Nothing {
        val names = settings.handlers.keys.joinToString()
        throw RefusedRequestException("no method \"$method\" is answered here; its methods are: $names")
    }

    private fun failed(
        request: Frame.Request,
        one: Running,
        e: Throwable,
    ): Frame {
        if (one.job.isCancelled) return Frame.Failure(request.id, Frame.Failure.Kind.CANCELLED, "cancelled")
        val shown = e.javaClass.name.takeIf { settings.showsFailureClasses && e !is RefusedRequestException }
        val message = e.message ?: "the handler failed without a message"
        return Frame.Failure(request.id, Frame.Failure.Kind.FAILED, message, shown)
    }

    /** Cancels a request. A request that has ended meanwhile is ignored: its end is on the way to the peer. */
    fun cancel(id: Long) {
        running[id]?.job?.cancel()
    }

    /** Adds credits to a stream, if it is still under way. */
    fun credit(frame: Frame.Credit) {
        running[frame.id]?.credits?.add(frame.count)
    }

    /**
     * Ends answering: cancels the requests under way, and suspends until they have ended. Their answers are not sent,
     * because the peer can be without room for them.
     */
    suspend fun end(): Unit = scope.coroutineContext.job.cancelAndJoin()
}
