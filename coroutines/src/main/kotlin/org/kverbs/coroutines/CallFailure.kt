package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionException
import kotlin.coroutines.Continuation
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn
import kotlin.coroutines.jvm.internal.CoroutineStackFrame

/**
 * Tells a caller that its request failed: a separate exception for each call, with the caller's stack trace. If another
 * request of the queue pair failed first, that failure is the cause.
 *
 * The stack-trace recovery of kotlinx.coroutines copies this exception and gives each copy the frames of the coroutine
 * that awaits it; the frames of the original stay in front of them. The copy has the original's cause, so that `cause`
 * is the same with recovery on or off.
 */
@OptIn(ExperimentalCoroutinesApi::class)
internal class CallFailure(
    private val failure: WorkCompletionException,
    private val first: Throwable?,
    private val frames: Array<StackTraceElement>,
) : WorkCompletionException(
        failure.rawStatus(),
        failure.rawOpcode(),
        failure.vendorError(),
        failure.queuePairNumber(),
        failure.workRequestId(),
    ),
    CopyableThrowable<CallFailure> {
    override val message: String? get() = failure.message

    init {
        if (first != null) initCause(first)
        if (frames.isNotEmpty()) super.setStackTrace(frames)
    }

    override fun toString(): String = "${WorkCompletionException::class.java.name}: $message"

    override fun createCopy(): CallFailure = CallFailure(failure, first, stackTrace)

    override fun setStackTrace(stackTrace: Array<out StackTraceElement>): Unit =
        super.setStackTrace((frames.asList() + stackTrace).distinct().toTypedArray())
}

/**
 * Tells each of several waiters that a system call was refused and ended their waits. It is not a
 * [org.kverbs.WorkRequestException]: the refused request was not the waiter's, so posting it again does not help.
 */
private class SharedRefusal(
    private val refusal: RdmaSystemException,
) : RdmaSystemException(refusal.operation(), refusal.errno(), refusal.advice()) {
    override val message: String? get() = refusal.message

    init {
        initCause(refusal)
    }

    override fun toString(): String = "${RdmaSystemException::class.java.name}: $message"
}

/**
 * Returns an exception for one caller from [this] failure, which several callers share. Its stack trace is that of the
 * suspended caller if [waiter] is given, otherwise that of this call.
 */
@OptIn(ExperimentalCoroutinesApi::class)
internal fun Throwable.calledBy(waiter: Continuation<*>?): Throwable {
    val frames = framesOf(waiter)
    val own =
        when {
            this is WorkCompletionException -> return CallFailure(this, cause, frames)
            this is RdmaSystemException -> SharedRefusal(this)
            javaClass == IllegalStateException::class.java -> IllegalStateException(message, this)
            this is CopyableThrowable<*> -> createCopy() as Throwable? ?: return this
            else -> return this
        }
    if (frames.isNotEmpty()) own.stackTrace = frames
    return own
}

/**
 * Returns an exception as [calledBy] does, for the running coroutine: the stack trace contains the callers of the
 * suspend function.
 */
internal suspend fun Throwable.calledHere(): Throwable = suspendCoroutineUninterceptedOrReturn { calledBy(it) }

/**
 * Returns the stack frames of the callers that are suspended until [waiter] runs again, innermost first. The Kotlin
 * compiler stores their line numbers in the continuations.
 */
private fun framesOf(waiter: Continuation<*>?): Array<StackTraceElement> =
    generateSequence(waiter as? CoroutineStackFrame) { it.callerFrame }
        .mapNotNull { it.getStackTraceElement() }
        .toList()
        .toTypedArray()
