package org.kverbs.testkit

import kotlinx.coroutines.CoroutineExceptionHandler
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext

/**
 * Tells a test about an exception of a coroutine whose scope has no exception handler. kotlinx.coroutines finds this
 * class as a service. Such a scope does not tell which test it belongs to, so a test is told only if no other test runs
 * at the same time.
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

        /** Runs a block during which [loop] gets such exceptions. */
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
