package org.kverbs.testkit

import kotlinx.coroutines.ThreadContextElement
import org.kverbs.Diagnostics
import org.kverbs.embedded.BufferMisuse
import org.kverbs.embedded.BufferMisuse.Kind.MEMORY_FREED
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.EmbeddedProvider
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.coroutines.CoroutineContext

/** The number of stack frames that show where a resource was opened. */
private const val FRAMES = 8

/** The number of misuses that a failure shows; later ones are often the same. */
private const val MISUSES = 10

/**
 * Watches the resources that one test opens, from its construction to [close], while other tests may run in the same
 * JVM. It is for extensions of test frameworks; a test uses [leakCheck].
 *
 * The watch counts resources that were opened by the thread that made the watch, or by threads that this thread started
 * during the watch, and everything made from these resources on any thread. The test of a resource that an unknown
 * thread opened, such as one of an older thread pool, cannot be determined: such a resource counts if no other watch
 * was active at the same time. A thread of a pool counts for the test during which the pool started it, even if another
 * test uses it: give each of several parallel tests its own pool.
 *
 * The watch turns [Diagnostics] on and leaves them on. Construct and [close] it on one thread; [check] may run on any.
 */
public class LeakWatch internal constructor(
    isOnThread: Boolean,
) : AutoCloseable {
    /** Begins to watch the resources that the calling thread opens. */
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

    /** Ignores the resources that are open now. */
    internal fun ignoreOpen() {
        known = open()
    }

    /**
     * Fails if a resource that was opened since the beginning is still open, or if memory was misused on an embedded
     * device since then.
     *
     * @throws AssertionError names each resource or misuse, and shows where it was opened or posted
     */
    public fun check() {
        failOnLeaks { false }
        val misuses = fabrics.flatMap { it.misuses() }
        failOnMisuses(if (isAlone) misuses + EmbeddedProvider.misuses().drop(misused) else misuses)
    }

    /** Lets [check] also fail if memory was misused on the devices of a fabric that belongs to the test. */
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
        val open = if (leaked.size == 1) "1 resource is" else "${leaked.size} resources are"
        throw AssertionError(
            "$open still open: close what is listed, or the resource that it was made from:\n$places",
        )
    }

    private fun counts(open: Diagnostics.Open): Boolean {
        val owner = open.owners().firstNotNullOfOrNull { (it as? LeakWatch)?.active() } ?: return isAlone
        return owner.isWithin(this)
    }

    /** Returns this watch, or the innermost active watch around it if it has ended. */
    private fun active(): LeakWatch? = generateSequence(this) { it.parent }.firstOrNull { it.isActive }

    private fun isWithin(other: LeakWatch): Boolean = generateSequence(this) { it.parent }.any { it === other }

    /** Ends the watch. Resources that are still open then count for the watch around it, if there is one. */
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

/** Sets the watch on the threads that a coroutine runs on. */
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
    val times = if (misuses.size == 1) "once" else "${misuses.size} times"
    throw AssertionError("memory was $what, $times:\n$shown")
}

/** Shows the stack trace for a message, without the frames of kverbs itself. */
internal fun Throwable?.frames(): String =
    this
        ?.stackTrace
        .orEmpty()
        .dropWhile { it.className.startsWith("org.kverbs.") && isInside(it) }
        .take(FRAMES)
        .joinToString("\n") { "    at $it" }

private fun isInside(frame: StackTraceElement): Boolean =
    listOf("internal", "cm", "embedded.internal", "dsl", "coroutines").any {
        frame.className.startsWith("org.kverbs.$it.")
    } ||
        frame.className.substringAfter("org.kverbs.").none { it == '.' }
