package org.kverbs.ibtool.session

import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.joinAll
import java.util.concurrent.atomic.AtomicInteger

/**
 * Asks for each of [all] at once, and shows how far it is. Ctrl-C ends it with the answers that have come.
 *
 * @param text what is done
 */
internal suspend fun <T, R : Any> Session.each(
    text: String,
    all: List<T>,
    ask: suspend (T) -> R,
): List<R> {
    val done = AtomicInteger()

    suspend fun run(stop: Job?): List<R> =
        working({ "$text: $done of ${all.size}" }) {
            finished(all, stop) { each -> ask(each).also { done.incrementAndGet() } }
        }
    return surroundings.interrupt?.during(::run) ?: run(null)
}

/** Asks for each of [all] at once, in its order. When [stop] completes, the answers that are not there are left out. */
internal suspend fun <T, R : Any> finished(
    all: List<T>,
    stop: Job?,
    ask: suspend (T) -> R,
): List<R> =
    coroutineScope {
        val answers = all.map { async { ask(it) } }
        val end = stop?.invokeOnCompletion { answers.forEach { it.cancel() } }
        try {
            answers.joinAll()
        } finally {
            end?.dispose()
        }
        answers.filterNot { it.isCancelled }.map { it.await() }
    }
