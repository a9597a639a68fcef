package org.kverbs.testkit

import org.kverbs.Diagnostics

/** Frames of a stack trace that show where something was opened. */
private const val FRAMES = 8

/**
 * Runs the block, and fails if anything that was opened in it is open still: the message names each such resource and shows where it was
 * opened. It turns [Diagnostics] on and leaves them on. What other threads open meanwhile counts too, so tests that run at the same time
 * in one JVM must not use it.
 *
 * @return what the block returned
 * @throws AssertionError if something leaked
 */
public fun <R> leakCheck(block: () -> R): R {
    Diagnostics.enable()
    val before = open()
    val result = block()
    failOnLeaks(before)
    return result
}

internal fun open(): Set<Any> = Diagnostics.openResources().mapTo(mutableSetOf()) { it.resource() }

internal fun failOnLeaks(before: Set<Any>) {
    val leaked = Diagnostics.openResources().filter { it.resource() !in before }
    if (leaked.isEmpty()) return
    val places =
        leaked.joinToString("\n") { open ->
            // The frames of kverbs itself say nothing about who forgot to close.
            val frames = open.openedAt()?.stackTrace.orEmpty().dropWhile { it.className.startsWith("org.kverbs.") && isInside(it) }
            "${open.resource().describe()} was opened\n" + frames.take(FRAMES).joinToString("\n") { "    at $it" }
        }
    throw AssertionError("${leaked.size} resources are open still; close them, or what they were made from:\n$places")
}

private fun isInside(frame: StackTraceElement): Boolean =
    listOf("org.kverbs.internal.", "org.kverbs.dsl.").any { frame.className.startsWith(it) } ||
        frame.className.substringAfter("org.kverbs.").none { it == '.' }
