package org.kverbs.testkit

import kotlinx.coroutines.CoroutineExceptionHandler
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext

/**
 * Tells a test what a coroutine throws in a scope of its own that has no exception handler. kotlinx.coroutines finds
 * this class as a service. Such a scope does not say which test it belongs to; so a test is told only if no other test
 * runs at the same time.
 */
internal class UncaughtFailures :
    AbstractCoroutineContextElement(CoroutineExceptionHandler),
    CoroutineExceptionHandler {
    override fun handleException(
        context: CoroutineContext,
        exception: Throwable,
    ) {
        val loops = running.toList()
        val innermost = loops.lastOrNull() ?: return
        if (loops.all(innermost::isOnThreadOf)) innermost.fail(exception)
    }

    companion object {
        private val running = CopyOnWriteArrayList<TestLoop>()

        /** Runs a block in which [loop] is told. */
        fun <R> during(
            loop: TestLoop,
            block: () -> R,
        ): R {
            running += loop
            return try {
                block()
            } finally {
                running -= loop
            }
        }
    }
}
