package org.kverbs.management.transaction

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Delay
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.withContext
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.coroutineContext

/**
 * Runs [block] so that its coroutines go on where the answer arrives that they wait for, on the transport's thread.
 * A question that follows from an answer is sent without waking another thread, which took as long as the question.
 *
 * Nothing in [block] may block, and nothing that a user wrote may run in it: the transport delivers nothing meanwhile.
 * The clock remains that of the caller, so that a virtual one stays virtual.
 */
internal suspend fun <T> whereAnswersArrive(block: suspend CoroutineScope.() -> T): T =
    withContext(inPlace(coroutineContext[ContinuationInterceptor]), block)

@OptIn(InternalCoroutinesApi::class)
private fun inPlace(callers: ContinuationInterceptor?): CoroutineDispatcher =
    if (callers is Delay) InPlaceByClock(callers) else InPlace()

private open class InPlace : CoroutineDispatcher() {
    override fun isDispatchNeeded(context: CoroutineContext): Boolean = false

    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ) = block.run()
}

@OptIn(InternalCoroutinesApi::class)
private class InPlaceByClock(
    clock: Delay,
) : InPlace(),
    Delay by clock
