@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.withContext
import org.kverbs.embedded.BufferMisuse.Kind.MEMORY_FREED
import org.kverbs.embedded.EmbeddedProvider

/**
 * Runs the block, and fails if anything that was opened in it is open still: the message names each such resource and
 * shows where it was opened. The block may not suspend; [leakCheckSuspending] is for one that does.
 *
 * Tests may run at the same time in one JVM: what belongs to the block is said at [LeakWatch]. It turns
 * [diagnostics][org.kverbs.Diagnostics] on and leaves them on.
 *
 * It fails as well if an embedded device was to use memory that the program had freed ([MEMORY_FREED]). If the devices
 * have their diagnostics on (`-Dkverbs.embedded.diagnostics=true`, see [EmbeddedProvider]), it fails if these found a
 * misuse in the block, too. The devices that every program has are shared by all its tests: their misuses count if no
 * other check ran meanwhile.
 *
 * JUnit runs no test function of Kotlin that returns a value: there, call this in a body with braces.
 *
 * @return what the block returned
 * @throws AssertionError if something leaked, or was misused
 */
public fun <R> leakCheck(block: () -> R): R = LeakWatch().use { watch -> block().also { watch.check() } }

/**
 * The same for a block that suspends. What its coroutines open counts on whatever thread they run, if they are children
 * of the block or have its context.
 *
 * @throws AssertionError if something leaked, or was misused
 */
public suspend fun <R> leakCheckSuspending(block: suspend CoroutineScope.() -> R): R =
    LeakWatch(isOnThread = false).use { watch -> withContext(WatchElement(watch), block).also { watch.check() } }
