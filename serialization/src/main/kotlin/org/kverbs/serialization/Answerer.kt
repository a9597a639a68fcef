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

/** The peer's requests, each in a coroutine of its own. */
internal class Answerer(
    background: CoroutineScope,
    private val settings: RequestsBuilder,
    private val send: suspend (Frame) -> Unit,
) {
    private val scope = CoroutineScope(background.coroutineContext + SupervisorJob(background.coroutineContext.job))
    private val running = ConcurrentHashMap<Long, Running>()
    private val unanswered = AtomicInteger()

    /**
     * For requests whose answers wait for room at the peer. They are no more the peer's requests, as the answer could
     * be there, and yet take memory here: the peer has to take some before it can make more requests.
     */
    private val room = Semaphore(2 * settings.maxInFlight)

    private class Running(
        val job: CompletableJob,
        credits: Int,
    ) {
        val credits = ItemCredits(credits)

        /** The connection failed while an item was sent. */
        @Volatile
        var isLost = false
    }

    /** Begins to answer; suspends while the peer has not taken the answers to its earlier requests. */
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
                // an Error of one handler is no reason to end the others
                currentCoroutineContext().ensureActive()
                if (!one.job.isCancelled && !one.isLost) failure = e
                failed(request, one, e)
            }
        // From here on the peer can have the end of this request, and make another one in its place.
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

    /** What the connection fails with is no failure of the handler. */
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
        throw RefusedRequestException("no method \"$method\" is answered here; there are: $names")
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

    /** Cancels a request. One that has ended meanwhile is no fault of the peer's: its end is under way. */
    fun cancel(id: Long) {
        running[id]?.job?.cancel()
    }

    /** Lets a stream go on, if it still does. */
    fun credit(frame: Frame.Credit) {
        running[frame.id]?.credits?.add(frame.count)
    }

    /**
     * The peer asks for nothing any more: cancels what is under way, and waits until it has ended. Answers are not
     * sent, as the peer may have no room for them.
     */
    suspend fun end(): Unit = scope.coroutineContext.job.cancelAndJoin()
}
