package org.kverbs.blocking

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.coroutines.blocking
import java.time.Duration
import java.util.concurrent.Executors
import java.util.concurrent.TimeoutException
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.toKotlinDuration

/** As [blocking] without a limit, for at most [timeout]; zero looks once. */
@Throws(InterruptedException::class, TimeoutException::class)
internal fun <T : Any> blocking(
    timeout: Duration,
    block: suspend () -> T,
): T =
    blocking {
        var result: T? = null
        // The clock runs on a thread of its own: the time can end after the block has received a message, but before it
        // returns.
        withTimeoutOrNull(timeout.toKotlinDuration().coerceAtLeast(1.nanoseconds)) { result = block() }
        result
    } ?: throw TimeoutException("nothing came within ${timeout.toMillis()} ms")

/** Runs each task on a virtual thread of its own. */
internal val VIRTUAL_THREADS: CoroutineDispatcher =
    Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("kverbs-handler-", 0).factory()).asCoroutineDispatcher()
