@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import org.kverbs.Diagnostics
import org.kverbs.embedded.BufferMisuse
import org.kverbs.embedded.BufferMisuse.Kind.MEMORY_FREED
import org.kverbs.embedded.EmbeddedProvider

/** Frames of a stack trace that show where something was opened. */
private const val FRAMES = 8

/** Misuses that a failure shows: those after them are often the same again. */
private const val MISUSES = 10

/**
 * Runs the block, and fails if anything that was opened in it is open still: the message names each such resource and shows where it was
 * opened. The block may suspend where the caller may. It turns [Diagnostics] on and leaves them on. What other threads open meanwhile
 * counts too, so tests that run at the same time in one JVM must not use it.
 *
 * It fails as well if an embedded device was to use memory that the program had freed ([MEMORY_FREED]). If the
 * devices have their diagnostics on (`-Dkverbs.embedded.diagnostics=true`, see [EmbeddedProvider]), it fails if these
 * found a misuse in the block, too.
 *
 * @return what the block returned
 * @throws AssertionError if something leaked, or was misused
 */
public inline fun <R> leakCheck(block: () -> R): R {
    val watch = LeakWatch()
    val result = block()
    watch.end()
    return result
}

/** What was open when a [leakCheck] began, and what had been misused. */
@PublishedApi
internal class LeakWatch {
    private val before: Set<Any>
    private val misused: Int

    init {
        Diagnostics.enable()
        before = open()
        misused = EmbeddedProvider.misuses().size
    }

    /** Fails if it has become more. */
    fun end() {
        failOnLeaks(before)
        failOnMisuses(EmbeddedProvider.misuses().drop(misused))
    }
}

internal fun open(): Set<Any> = Diagnostics.openResources().mapTo(mutableSetOf()) { it.resource() }

internal fun failOnLeaks(
    before: Set<Any>,
    isKnown: (Any) -> Boolean = { false },
) {
    val leaked = Diagnostics.openResources().filter { it.resource() !in before && !isKnown(it.resource()) }
    if (leaked.isEmpty()) return
    val places =
        leaked.joinToString("\n") { open ->
            "${open.resource().describe()} was opened\n" + open.openedAt().frames()
        }
    throw AssertionError("${leaked.size} resources are open still; close them, or what they were made from:\n$places")
}

internal fun failOnMisuses(misuses: List<BufferMisuse>) {
    if (misuses.isEmpty()) return
    val shown =
        misuses.take(MISUSES).joinToString("\n") { misuse ->
            val posted = listOfNotNull(misuse.buffer().takeIf { misuse.kind() != MEMORY_FREED }, misuse.other())
            "$misuse" + posted.joinToString("") { "\n  wr_id ${it.workRequestId()} was posted\n" + it.postedAt().frames() }
        }
    val what = if (misuses.all { it.kind() == MEMORY_FREED }) "freed while it was registered" else "misused while it was posted"
    throw AssertionError("memory was $what, ${misuses.size} times:\n$shown")
}

/** Where it was, for a message; the frames of kverbs itself say nothing about who did it. */
internal fun Throwable?.frames(): String =
    this
        ?.stackTrace
        .orEmpty()
        .dropWhile { it.className.startsWith("org.kverbs.") && isInside(it) }
        .take(FRAMES)
        .joinToString("\n") { "    at $it" }

private fun isInside(frame: StackTraceElement): Boolean =
    listOf("org.kverbs.internal.", "org.kverbs.embedded.internal.", "org.kverbs.dsl.", "org.kverbs.coroutines.").any {
        frame.className.startsWith(it)
    } ||
        frame.className.substringAfter("org.kverbs.").none { it == '.' }
