package org.kverbs.testkit

import kotlinx.coroutines.ThreadContextElement
import org.kverbs.Diagnostics
import org.kverbs.embedded.BufferMisuse
import org.kverbs.embedded.BufferMisuse.Kind.MEMORY_FREED
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.EmbeddedProvider
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.coroutines.CoroutineContext

/** Frames of a stack trace that show where something was opened. */
private const val FRAMES = 8

/** Misuses that a failure shows: those after them are often the same again. */
private const val MISUSES = 10

/**
 * Watches what one test opens, from its construction to [close], while other tests may run in the same JVM. For
 * extensions of test frameworks; a test uses [leakCheck].
 *
 * Counted are resources that were opened by the thread that made the watch, by threads that this one started meanwhile,
 * and what was made from these resources on any thread. Of what an unknown thread opened, as one of a pool that was
 * there before, nobody can say which test it belongs to: that counts if no other watch was active meanwhile.
 * A thread of a pool counts for the test during which the pool started it, though another test uses it at the same
 * time: give tests that run in parallel a pool of their own each.
 *
 * It turns [Diagnostics] on and leaves them on. Construction and [close] are for one thread, [check] for any.
 */
public class LeakWatch internal constructor(
    isOnThread: Boolean,
) : AutoCloseable {
    /** Begins to watch what the calling thread opens. */
    public constructor() : this(isOnThread = true)

    private val former: Any?
    private val parent = Diagnostics.owner() as? LeakWatch
    private var known: Set<Any>
    private val misused: Int

    @Volatile
    private var isActive = true

    @Volatile
    private var isAlone = true
    private val restore = isOnThread
    private val fabrics = CopyOnWriteArrayList<EmbeddedFabric>()

    init {
        Diagnostics.enable()
        begin(this)
        known = open()
        misused = EmbeddedProvider.misuses().size
        former = if (isOnThread) Diagnostics.setOwner(this) else null
    }

    /** Takes what is open now for what the test found there. */
    internal fun ignoreOpen() {
        known = open()
    }

    /**
     * Fails if something that was opened since the beginning is open still, or if memory was misused meanwhile on an
     * embedded device.
     *
     * @throws AssertionError names each resource or misuse, and shows where it was opened or posted
     */
    public fun check() {
        failOnLeaks { false }
        val misuses = fabrics.flatMap { it.misuses() }
        failOnMisuses(if (isAlone) misuses + EmbeddedProvider.misuses().drop(misused) else misuses)
    }

    /** Has [check] fail if memory was misused on the devices of a fabric of the test's own, too. */
    public fun include(fabric: EmbeddedFabric) {
        fabrics += fabric
    }

    internal fun failOnLeaks(isKnown: (Any) -> Boolean) {
        val leaked =
            Diagnostics.openResources().filter {
                it.resource() !in known && counts(it) &&
                    !isKnown(it.resource())
            }
        if (leaked.isEmpty()) return
        val places =
            leaked.joinToString("\n") { open ->
                "${open.resource().describe()} was opened\n" + open.openedAt().frames()
            }
        throw AssertionError(
            "${leaked.size} resources are open still; close them, or what they were made from:\n$places",
        )
    }

    private fun counts(open: Diagnostics.Open): Boolean {
        val owner = open.owners().firstNotNullOfOrNull { (it as? LeakWatch)?.active() } ?: return isAlone
        return owner.isWithin(this)
    }

    /** Itself, or what was watching around it when it has ended. */
    private fun active(): LeakWatch? = generateSequence(this) { it.parent }.firstOrNull { it.isActive }

    private fun isWithin(other: LeakWatch): Boolean = generateSequence(this) { it.parent }.any { it === other }

    /** Ends it. What it counted and nobody has closed then counts for the watch around it, if there is one. */
    override fun close() {
        if (!isActive) return
        end(this)
        if (restore) Diagnostics.setOwner(former)
    }

    private companion object {
        val watches = mutableSetOf<LeakWatch>()

        @Synchronized
        fun begin(watch: LeakWatch) {
            for (other in watches) {
                if (watch.isWithin(other)) continue
                other.isAlone = false
                watch.isAlone = false
            }
            watches += watch
        }

        @Synchronized
        fun end(watch: LeakWatch) {
            watch.isActive = false
            watches -= watch
        }

        fun open(): Set<Any> = Diagnostics.openResources().mapTo(mutableSetOf()) { it.resource() }
    }
}

/** Takes a watch to the threads that a coroutine runs on. */
internal class WatchElement(
    private val watch: LeakWatch,
) : ThreadContextElement<Any?> {
    override val key: CoroutineContext.Key<*> get() = Key

    override fun updateThreadContext(context: CoroutineContext): Any? = Diagnostics.setOwner(watch)

    override fun restoreThreadContext(
        context: CoroutineContext,
        oldState: Any?,
    ) {
        Diagnostics.setOwner(oldState)
    }

    private companion object Key : CoroutineContext.Key<WatchElement>
}

private fun failOnMisuses(misuses: List<BufferMisuse>) {
    if (misuses.isEmpty()) return
    val shown =
        misuses.take(MISUSES).joinToString("\n") { misuse ->
            val posted = listOfNotNull(misuse.buffer().takeIf { misuse.kind() != MEMORY_FREED }, misuse.other())
            "$misuse" +
                posted.joinToString("") { "\n  wr_id ${it.workRequestId()} was posted\n" + it.postedAt().frames() }
        }
    val what =
        if (misuses.all {
                it.kind() == MEMORY_FREED
            }
        ) {
            "freed while it was registered"
        } else {
            "misused while it was posted"
        }
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
