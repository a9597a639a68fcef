package org.kverbs.coroutines

import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.ThreadContextElement
import kotlinx.coroutines.ensureActive
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater
import kotlin.coroutines.Continuation
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.cancellation.CancellationException
import kotlin.coroutines.jvm.internal.CoroutineStackFrame
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException

/** What a [PollingWait] waits for. */
internal interface Awaited {
    /** Has a waiter wait no more, as its coroutine is cancelled. False if the end of the operation resumes it. */
    fun leave(wait: PollingWait): Boolean
}

/**
 * Waits for messages or sent requests, one after the other, for a coroutine that runs on the polling thread. It does
 * what a CancellableContinuation does, which registers with the coroutine's job for each wait: this one does so once.
 *
 * The polling thread calls [begin]. The end of the operation and the cancellation take this out of the operation,
 * whichever is first, and the first resumes the coroutine by its dispatcher.
 *
 * @param onEnd called when the job is cancelled or has ended, so that this can't be used any more
 */
internal class PollingWait(
    override val context: CoroutineContext,
    private val job: Job,
    interceptor: ContinuationInterceptor,
    private val loop: PollLoop,
    private val onEnd: (PollingWait) -> Unit,
) : Continuation<Any>,
    CoroutineStackFrame {
    private val intercepted = interceptor.interceptContinuation(this)

    /** True if no element of the context must be told when the coroutine runs, which its dispatcher does. */
    private val isPlain = context.fold(true) { plain, element -> plain && element !is ThreadContextElement<*> }

    /** The coroutine that waits: written before this is in an operation. */
    private var caller: Continuation<Any>? = null

    /** What it waits for; null if no coroutine waits. */
    @Volatile
    private var awaited: Awaited? = null

    /**
     * The number of the request that it waits for, if that is one of [SendSlots]. A cancellation can read the number of
     * the next wait. Then it takes this out of that one, or is found by the check of the job behind its begin.
     */
    var request: Int = 0
        private set

    @OptIn(InternalCoroutinesApi::class)
    private val handle = job.invokeOnCompletion(onCancelling = true, invokeImmediately = true) { jobEnds() }

    /** True if this leaves the job as soon as no coroutine waits. */
    @Volatile
    private var isClosed = false

    /** True if no coroutine waits. */
    val isFree: Boolean get() = awaited == null

    /** True if the job is cancelled or has ended. */
    val isOver: Boolean get() = !job.isActive

    override val callerFrame: CoroutineStackFrame? get() = caller as? CoroutineStackFrame

    override fun getStackTraceElement(): StackTraceElement? = null

    /**
     * Lets [caller] wait for the end of a receive; then it must suspend. False if it can't: its job is cancelled, the
     * receive has ended, or somebody else awaits it.
     */
    fun begin(
        receive: PostedReceive,
        caller: Continuation<Received>,
    ): Boolean = begin(receive, caller) { receive.tryAwait(this) }

    /**
     * Lets [caller] wait for a request whose slot holds [standIn]; then it must suspend. False if it can't: its job is
     * cancelled, or the queue has ended.
     */
    fun begin(
        slots: SendSlots,
        request: Int,
        standIn: Any,
        caller: Continuation<*>,
    ): Boolean {
        this.request = request
        return begin(slots, caller) { slots.attach(request, standIn, this) }
    }

    @Suppress("UNCHECKED_CAST")
    private inline fun begin(
        awaited: Awaited,
        caller: Continuation<*>,
        enter: () -> Boolean,
    ): Boolean {
        this.caller = caller as Continuation<Any>
        AWAITED.lazySet(this, awaited)
        // The job is asked after this is in the operation: a cancellation that did not find it there is found here.
        val waits = enter() && (!isOver || !awaited.leave(this))
        if (!waits) end()
        return waits
    }

    private fun jobEnds() {
        onEnd(this)
        val isMine = awaited?.leave(this) ?: false
        if (isMine) fail(CancellationException("the coroutine was cancelled"))
    }

    /** Resumes the coroutine with what it waits for. */
    fun resume(result: Any) {
        waking { intercepted.resume(result) }
    }

    /**
     * Resumes the coroutine as [resume] does, on the polling thread, which takes the completion. If no other coroutine
     * runs there, this one runs at once, without the event loop of kotlinx.coroutines.
     */
    fun resumeHere(result: Any) {
        if (isPlain && loop.tryRunHere(this, result)) return
        resume(result)
    }

    /** Resumes the coroutine with an exception of its own made from [cause]. */
    fun fail(cause: Throwable) {
        waking { intercepted.resumeWithException(cause.calledBy(caller)) }
    }

    /** Called by the coroutine's dispatcher when the coroutine runs again. */
    override fun resumeWith(result: Result<Any>) {
        val caller = checkNotNull(caller)
        end()
        // The job can have been cancelled since the coroutine was resumed.
        caller.resumeWith(runCatching { job.ensureActive() }.fold({ result }, { Result.failure(it) }))
    }

    private fun end() {
        caller = null
        AWAITED.lazySet(this, null)
        if (isClosed) handle.dispose()
    }

    /**
     * Takes it from the job, at the end of the wait if a coroutine waits, which the job can cancel until then. If that
     * end comes at the same moment on another thread, it can miss the close: then this stays until the job ends.
     */
    fun close() {
        isClosed = true
        if (isFree) handle.dispose()
    }

    private companion object {
        /** An updater in place of an AtomicReference, as a program can have thousands of waits: they fill the cache. */
        val AWAITED: AtomicReferenceFieldUpdater<PollingWait, Awaited> =
            AtomicReferenceFieldUpdater.newUpdater(PollingWait::class.java, Awaited::class.java, "awaited")
    }
}
