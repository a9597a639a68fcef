package org.kverbs.coroutines

import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.ensureActive
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.Continuation
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.cancellation.CancellationException
import kotlin.coroutines.jvm.internal.CoroutineStackFrame
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException

/**
 * Waits for messages, one after the other, for a coroutine that runs on the polling thread. It does what a
 * CancellableContinuation does, which registers with the coroutine's job for each wait: this one does so once.
 *
 * The polling thread calls [begin]. Any thread can resume or cancel the coroutine: the first of them does, by its
 * dispatcher.
 *
 * @param onEnd called when the job is cancelled or has ended, so that this can't be used any more
 */
internal class PollingWait(
    override val context: CoroutineContext,
    interceptor: ContinuationInterceptor,
    private val onEnd: (PollingWait) -> Unit,
) : Continuation<Received>,
    CoroutineStackFrame {
    private val intercepted = interceptor.interceptContinuation(this)
    private val state = AtomicInteger(FREE)
    private val job = context[Job]

    /** The coroutine that waits, and what it waits for: written before the state is [WAITING]. */
    private var caller: Continuation<Received>? = null
    private var receive: PostedReceive? = null

    @OptIn(InternalCoroutinesApi::class)
    private val handle = job?.invokeOnCompletion(onCancelling = true) { jobEnds() }

    /** True if no coroutine waits. */
    val isFree: Boolean get() = state.get() == FREE

    override val callerFrame: CoroutineStackFrame? get() = caller as? CoroutineStackFrame

    override fun getStackTraceElement(): StackTraceElement? = null

    /**
     * Lets [caller] wait for the end of a receive; then it must suspend. False if it can't: its job is cancelled, the
     * receive has ended, or somebody else awaits it.
     */
    fun begin(
        receive: PostedReceive,
        caller: Continuation<Received>,
    ): Boolean {
        this.caller = caller
        this.receive = receive
        state.set(WAITING)
        // After the state: a cancellation that did not find the wait is found here.
        if (job?.isActive != false && receive.tryAwait(this)) return true
        val isMine = state.compareAndSet(WAITING, RESUMING)
        if (isMine) end()
        return !isMine
    }

    private fun jobEnds() {
        onEnd(this)
        if (!state.compareAndSet(WAITING, RESUMING)) return
        receive?.leave(this)
        waking { intercepted.resumeWithException(CancellationException("the coroutine was cancelled")) }
    }

    /** Resumes the coroutine with the message that it waits for. */
    fun resume(message: Received) {
        if (state.compareAndSet(WAITING, RESUMING)) waking { intercepted.resume(message) }
    }

    /** Resumes the coroutine with an exception of its own made from [cause]. */
    fun fail(cause: Throwable) {
        if (!state.compareAndSet(WAITING, RESUMING)) return
        waking { intercepted.resumeWithException(cause.calledBy(caller)) }
    }

    /** Called by the coroutine's dispatcher when the coroutine runs again. */
    override fun resumeWith(result: Result<Received>) {
        val caller = checkNotNull(caller)
        end()
        // The job can have been cancelled since the coroutine was resumed.
        caller.resumeWith(runCatching { context.ensureActive() }.fold({ result }, { Result.failure(it) }))
    }

    private fun end() {
        caller = null
        receive = null
        state.set(FREE)
    }

    /** Takes it from the job. */
    fun close() {
        handle?.dispose()
    }

    private companion object {
        const val FREE = 0
        const val WAITING = 1
        const val RESUMING = 2
    }
}
