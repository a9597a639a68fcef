package org.kverbs.dsl

import org.kverbs.CompletionHandler
import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletion
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration

/**
 * Passes up to [limit] completions to [handler]; see [CompletionQueue.poll]. Keep one handler for many polls, so that a
 * poll allocates nothing.
 */
public fun CompletionQueue.poll(
    limit: Int = 64,
    handler: CompletionHandler,
): Int = poll(handler, limit)

/**
 * Polls until [count] completions have arrived and returns copies of them; errors as [CompletionQueue.await]. For
 * scripts and tests.
 */
public fun CompletionQueue.await(
    count: Int = 1,
    timeout: Duration = 10.seconds,
): List<WorkCompletion> = await(count, timeout.toJavaDuration())
