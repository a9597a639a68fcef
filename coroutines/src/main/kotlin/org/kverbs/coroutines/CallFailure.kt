package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionException
import kotlin.coroutines.Continuation
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn
import kotlin.coroutines.jvm.internal.CoroutineStackFrame

/**
 * The failure of a request as its caller gets it: an object of its own for each call, with the caller's stack trace.
 * What happened first on the queue pair is its cause, where that is another request.
 *
 * Stack-trace recovery of kotlinx.coroutines copies it and gives each copy the frames of who awaits it; those that the
 * copied one had stay in front of them. The copy's cause is the original's, so that `cause` says the same whether
 * recovery is on or off.
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
 * A call that the system refused, as each of several is told that waited for what ended by it. For them it is none of
 * their own: not a [org.kverbs.WorkRequestException], whose request could be posted again.
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
 * What a caller is told of [this], which happened to several: an exception of its own. Its stack trace is that of the
 * suspended caller if [waiter] is given, else that of this call.
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
 * The same for the caller of a suspend function that runs now, and was suspended before: its callers are in the stack
 * trace.
 */
internal suspend fun Throwable.calledHere(): Throwable = suspendCoroutineUninterceptedOrReturn { calledBy(it) }

/**
 * The callers that are suspended until [waiter] runs again, innermost first. The Kotlin compiler leaves their lines in
 * the code.
 */
private fun framesOf(waiter: Continuation<*>?): Array<StackTraceElement> =
    generateSequence(waiter as? CoroutineStackFrame) { it.callerFrame }
        .mapNotNull { it.getStackTraceElement() }
        .toList()
        .toTypedArray()
