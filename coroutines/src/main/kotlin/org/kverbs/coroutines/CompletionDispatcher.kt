package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueue
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Context
import org.kverbs.attributes.TransportType
import org.kverbs.internal.Guard
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.LongAdder
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

/**
 * Polls completion queues, and resumes the coroutines that wait for the completed requests.
 *
 * ```
 * device.completionDispatcher().use { dispatcher ->
 *     val qp = dispatcher.qp(pd, RC) { maxSendWr(64) }
 *     qp.connect(remote)
 *     qp.write(local, to = remoteMemory)          // suspends until the peer's device has the bytes
 * }
 * ```
 *
 * **Threads.** One thread polls: a daemon thread of the dispatcher, or a thread of the caller
 * ([CompletionDispatcherBuilder.callerPolls]). A resumed coroutine runs on its own coroutine dispatcher. With
 * [coroutineDispatcher] it runs on the polling thread, without a switch to another thread, and must not block. Any
 * thread can call the functions of this class.
 *
 * **Faults in other code.** If a coroutine's dispatcher throws when it has to resume the coroutine, or a task on
 * [coroutineDispatcher] throws, the exception goes to the thread's handler of uncaught exceptions, and polling goes
 * on; that coroutine never runs again. The exception of a [WaitStrategy] goes there, too, and [WaitStrategy.adaptive]
 * replaces the strategy.
 *
 * **Ownership.** The dispatcher belongs to the device's context, and owns its queue pairs: [close] ends all waits with
 * an IllegalStateException that names the reason, closes its queue pairs and completion queues, and stops the thread.
 * Closing the context does the same.
 */
public class CompletionDispatcher internal constructor(
    /** The open device whose completions the dispatcher takes. */
    public val context: Context,
    builder: CompletionDispatcherBuilder,
) : AutoCloseable {
    /** The channel on which completion queues announce their completions. Create a queue for [completions] with it. */
    public val channel: CompletionChannel = context.completionChannel()
    internal val targets = CompletionTargets()
    internal val loop = PollLoop(channel, builder.strategy)
    private val queueEntries = builder.queueEntries
    private val queues = CopyOnWriteArrayList<PolledQueue>()

    private val failures = LongAdder()

    /**
     * Held by the thread that polls or runs tasks. A guard, because the thread that polls again and again enters it by
     * an ordinary store.
     */
    private val turns = Guard()

    /**
     * The id of the thread that holds [turns], 0 for none. Each thread compares it with its own id, so it needs no
     * fence. An id, because a reference to the thread costs a barrier of the garbage collector.
     */
    private val poller = AtomicLong()

    /** The last thread that polled, for a message; another thread can still see none. */
    private var lastPoller: Thread? = null

    /** The counts of what the dispatcher has done so far, and what it holds now. */
    public val stats: CompletionDispatcherStats
        get() {
            val open = queues.filter { it.cq.isOpen }
            return CompletionDispatcherStats(
                completions = targets.takenCount,
                failures = failures.sum(),
                tasks = loop.taskCount,
                sleeps = loop.sleepCount,
                queues = open.size,
                entries = open.sumOf { it.capacity },
                reserved = open.sumOf { it.reservedCount },
            )
        }

    /**
     * Why no thread polls any more, although the channel can be open for another moment; null while a thread polls.
     */
    @Volatile
    private var death: Throwable? = null
    private val thread: Thread? =
        if (builder.isCallers) {
            null
        } else {
            Thread
                .ofPlatform()
                .daemon()
                .name(
                    "kverbs-completions-${context.device().name()}",
                ).unstarted(::pollUntilClosed)
        }

    /**
     * Runs coroutines on the polling thread, one at a time; after [close] on [Dispatchers.Default], still one at a
     * time.
     */
    public val coroutineDispatcher: CoroutineDispatcher =
        object : CoroutineDispatcher() {
            override fun isDispatchNeeded(context: CoroutineContext): Boolean = !isPolling

            override fun dispatch(
                context: CoroutineContext,
                block: Runnable,
            ) {
                loop.run(block)
                if (!channel.isOpen) runLeftTasks()
            }

            override fun toString(): String = "polling thread of ${channel.describe()}"
        }

    init {
        channel.whenClosed {
            failAll(
                IllegalStateException("${channel.describe()} was closed, and with it the dispatcher of completions"),
            )
            runLeftTasks()
        }
        thread?.start()
    }

    /** Counts a request that failed, other than by a flush. */
    internal fun countFailure(): Unit = failures.increment()

    private fun pollUntilClosed() {
        // The dispatcher was closed before this thread began: another thread runs the remaining tasks.
        if (!tryBegin()) return
        try {
            while (channel.isOpen) turn()
        } catch (e: Throwable) {
            if (!channel.isOpen && e is IllegalStateException) return
            // No thread polls any more. Refuse new waits first: a caller whose wait ends below can try again at once.
            val cause = IllegalStateException("the thread that polled ${channel.describe()} has ended", e)
            death = cause
            failAll(cause)
            channel.close()
            throw e
        } finally {
            leave()
        }
    }

    /** Makes the calling thread the polling one; false if a thread is polling. */
    private fun tryBegin(): Boolean {
        if (!turns.tryEnter()) return false
        val self = Thread.currentThread()
        if (lastPoller !== self) lastPoller = self
        poller.plain = self.threadId()
        return true
    }

    /** Ends the polling of the calling thread. A task whose thread has found it polling is visible to it then. */
    private fun end() {
        poller.plain = 0
        turns.exitAndSee()
    }

    /** Ends the polling, and lets the remaining tasks of a closed dispatcher run, one at a time. */
    private fun leave() {
        end()
        if (!channel.isOpen) runLeftTasks()
    }

    private fun turn() {
        try {
            loop.turn()
        } catch (_: InterruptedException) {
            // A coroutine that ran here can have left the interrupt. It does not end the dispatcher: no caller knows
            // this thread.
        }
    }

    private fun failAll(cause: Throwable) {
        loop.all().forEach {
            loop.remove(it)
            waking { it.fail(cause) }
        }
    }

    private fun runLeftTasks(): Unit = Dispatchers.Default.dispatch(EmptyCoroutineContext, ::runAlone)

    /** Runs the remaining tasks on one thread. A thread that adds a task meanwhile leaves it to the thread in here. */
    private fun runAlone() {
        while (loop.hasTasks && tryBegin()) {
            try {
                do {
                    val done = loop.runTasks()
                } while (done > 0)
            } finally {
                end()
            }
        }
    }

    /**
     * Polls every queue once, resumes the coroutines whose requests have completed, and runs the tasks of
     * [coroutineDispatcher]. Never blocks.
     *
     * @return the number of completions taken and tasks run
     * @throws IllegalStateException if the dispatcher has a thread of its own
     */
    public fun poll(): Int = asPoller { loop.round() }

    /**
     * Runs a coroutine on the calling thread, which polls until the coroutine has ended. It works like `runBlocking`,
     * with completions in place of the event loop: an interrupt cancels the coroutine.
     *
     * @throws InterruptedException if the thread was interrupted, once the coroutine has ended
     * @throws IllegalStateException if the dispatcher has a thread of its own, or another thread is polling
     */
    @OptIn(ExperimentalCoroutinesApi::class)
    public fun <T> run(block: suspend CoroutineScope.() -> T): T =
        asPoller {
            val result = CoroutineScope(coroutineDispatcher).async(block = block)
            result.invokeOnCompletion { loop.wake() }
            var interrupt: InterruptedException? = null
            while (!result.isCompleted) {
                try {
                    if (Thread.interrupted()) {
                        throw InterruptedException(
                            "the thread that runs a coroutine on ${channel.describe()} was interrupted",
                        )
                    }
                    if (channel.isOpen) {
                        loop.turn()
                    } else if (loop.runTasks() == 0) {
                        Thread.sleep(1)
                    }
                } catch (e: InterruptedException) {
                    interrupt = e
                    result.cancel(CancellationException(e.message, e))
                }
            }
            interrupt?.let { throw it }
            result.getCompletionExceptionOrNull()?.let { throw it }
            result.getCompleted()
        }

    /** True on the polling thread. */
    internal val isPolling: Boolean get() = Thread.currentThread().threadId() == poller.plain

    private inline fun <T> asPoller(block: () -> T): T {
        check(
            thread == null,
        ) { "this dispatcher polls on a thread of its own; make it with callerPolls() to poll on yours" }
        check(tryBegin()) {
            "${lastPoller?.let { "thread ${it.name}" } ?: "a thread"} is polling already; poll on one thread at a time"
        }
        try {
            return block()
        } finally {
            // A block whose calls all found their completion at once has made no round.
            loop.endRound()
            leave()
        }
    }

    /** Reserves room for [completions] in a queue; creates the queue if none has room. */
    internal fun reserve(completions: Int): PolledQueue {
        death?.let { throw it.calledBy(null) }
        queues.firstOrNull { it.cq.isOpen && it.reserve(completions) }?.let { return it }
        val entries = maxOf(completions, minOf(usualEntries(), context.queryDevice().maxCqe()))
        val queue = PolledQueue(completionQueue(entries), targets, loop::wake)
        check(queue.reserve(completions))
        queues.add(queue)
        loop.add(queue)
        return queue
    }

    /**
     * Over soft-iWARP the first completion queue covers at least 144 pages of the device's memory map. Its library
     * takes the number of the next page for an error (SIW_INVAL_UOBJ_KEY, 0x90000), and refuses the queue pair that
     * begins there, usually the 27th. A queue that begins before that page and reaches over it keeps queue pairs from
     * it.
     */
    private fun usualEntries(): Int =
        if (context.device().transportType() == TransportType.IWARP) {
            maxOf(queueEntries, IWARP_ENTRIES)
        } else {
            queueEntries
        }

    private fun completionQueue(entries: Int): CompletionQueue =
        context.completionQueue(CompletionQueueAttributes.of(entries, channel))

    /**
     * Closes the dispatcher's queue pairs and queues, ends all waits and stops polling. Any thread can call, also a
     * coroutine on [coroutineDispatcher].
     */
    override fun close() {
        try {
            channel.close()
        } finally {
            if (thread != null && thread !== Thread.currentThread()) thread.join()
        }
    }

    private companion object {
        /** Entries of 32 bytes. */
        const val IWARP_ENTRIES = 32_768
    }
}

/**
 * Creates a completion dispatcher: `device.completionDispatcher { strategy(WaitStrategy.busy()) }`.
 *
 * @throws org.kverbs.RdmaSystemException if the device refuses a completion channel
 */
public fun Context.completionDispatcher(block: CompletionDispatcherBuilder.() -> Unit = {}): CompletionDispatcher =
    CompletionDispatcher(this, CompletionDispatcherBuilder().apply(block))
