package org.kverbs.coroutines

import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.ThreadContextElement
import kotlinx.coroutines.ensureActive
import java.util.concurrent.atomic.AtomicReference
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
 * The polling thread calls [begin]. The end of the receive and the cancellation take this out of the receive, whichever
 * is first, and the first resumes the coroutine by its dispatcher.
 *
 * @param onEnd called when the job is cancelled or has ended, so that this can't be used any more
 */
internal class PollingWait(
    override val context: CoroutineContext,
    interceptor: ContinuationInterceptor,
    private val loop: PollLoop,
    private val onEnd: (PollingWait) -> Unit,
) : Continuation<Received>,
    CoroutineStackFrame {
    private val intercepted = interceptor.interceptContinuation(this)
    private val job = context[Job]

    /** True if no element of the context must be told when the coroutine runs, which its dispatcher does. */
    private val isPlain = context.fold(true) { plain, element -> plain && element !is ThreadContextElement<*> }

    /** The coroutine that waits: written before this is in a receive. */
    private var caller: Continuation<Received>? = null

    /** What it waits for; null if no coroutine waits. */
    private val receive = AtomicReference<PostedReceive?>()

    @OptIn(InternalCoroutinesApi::class)
    private val handle = job?.invokeOnCompletion(onCancelling = true, invokeImmediately = true) { jobEnds() }

    /** True if this leaves the job as soon as no coroutine waits. */
    @Volatile
    private var isClosed = false

    /** True if no coroutine waits. */
    val isFree: Boolean get() = receive.acquire == null

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
        this.receive.setRelease(receive)
        // The job is asked after this is in the receive: a cancellation that did not find it there is found here.
        val waits = receive.tryAwait(this) && (job?.isActive != false || !receive.leave(this))
        if (!waits) end()
        return waits
    }

    private fun jobEnds() {
        onEnd(this)
        val isMine = receive.get()?.leave(this) ?: false
        if (isMine) fail(CancellationException("the coroutine was cancelled"))
    }

    /** Resumes the coroutine with the message that it waits for. */
    fun resume(message: Received) {
        waking { intercepted.resume(message) }
    }

    /**
     * Resumes the coroutine as [resume] does, on the polling thread, which takes the completion of the message. If no
     * other coroutine runs there, this one runs at once, without the event loop of kotlinx.coroutines.
     */
    fun resumeHere(message: Received) {
        if (isPlain && loop.tryRunHere(this, message)) return
        resume(message)
    }

    /** Resumes the coroutine with an exception of its own made from [cause]. */
    fun fail(cause: Throwable) {
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
        receive.setRelease(null)
        if (isClosed) handle?.dispose()
    }

    /**
     * Takes it from the job, at the end of the wait if a coroutine waits, which the job can cancel until then. If that
     * end comes at the same moment on another thread, it can miss the close: then this stays until the job ends.
     */
    fun close() {
        isClosed = true
        if (isFree) handle?.dispose()
    }
}
