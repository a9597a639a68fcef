@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.withContext
import org.kverbs.embedded.BufferMisuse.Kind.MEMORY_FREED
import org.kverbs.embedded.EmbeddedProvider

/**
 * Runs the block, and fails if a resource that was opened in it is still open. The message names each such resource and
 * shows where it was opened. The block must not suspend; use [leakCheckSuspending] for a block that does.
 *
 * Tests may run at the same time in one JVM: [LeakWatch] describes which resources belong to the block. The function
 * turns [diagnostics][org.kverbs.Diagnostics] on and leaves them on.
 *
 * The check also fails if an embedded device needed memory that the program had freed ([MEMORY_FREED]). If the devices'
 * diagnostics are on (`-Dkverbs.embedded.diagnostics=true`, see [EmbeddedProvider]), it also fails if these found a
 * misuse in the block. All tests of a program share the configured devices: their misuses count only if no other check
 * ran at the same time.
 *
 * JUnit skips test functions of Kotlin that return a value: call this in a body with braces there.
 *
 * @return the result of the block
 * @throws AssertionError if a resource leaked, or memory was misused
 */
public fun <R> leakCheck(block: () -> R): R = LeakWatch().use { watch -> block().also { watch.check() } }

/**
 * Does the same for a block that suspends. Resources of its coroutines count on whatever thread they run, if the
 * coroutines are children of the block or have its context.
 *
 * @throws AssertionError if a resource leaked, or memory was misused
 */
public suspend fun <R> leakCheckSuspending(block: suspend CoroutineScope.() -> R): R =
    LeakWatch(isOnThread = false).use { watch -> withContext(WatchElement(watch), block).also { watch.check() } }
