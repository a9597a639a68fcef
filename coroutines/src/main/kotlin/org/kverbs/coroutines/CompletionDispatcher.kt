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
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicReference
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

/**
 * Owns the polling of completion queues and resumes the coroutines that wait for what completes there.
 *
 * ```
 * device.completionDispatcher().use { dispatcher ->
 *     val qp = dispatcher.qp(pd, RC) { maxSendWr(64) }
 *     qp.connect(remote)
 *     qp.write(local, to = remoteMemory)          // suspends until the peer has it
 * }
 * ```
 *
 * **Threads.** One thread polls: its own, a daemon, or the caller's ([CompletionDispatcherBuilder.callerPolls]). A
 * coroutine that is resumed runs on its own dispatcher; on [coroutines] it runs on the polling thread, with no
 * hand-over to another, and then must not block. Everything else is for any thread.
 *
 * **Faults of others.** What a coroutine's dispatcher throws when the coroutine is to run again, or a task on
 * [coroutines], goes to the thread's handler of uncaught exceptions, and the polling goes on; that coroutine never runs
 * again. A [WaitStrategy] that throws is reported so, too, and replaced by [WaitStrategy.adaptive].
 *
 * **Ownership.** It belongs to the device's context, and its queue pairs belong to it: [close] ends all waits with an
 * IllegalStateException that says why, closes the queue pairs made by it and its queues, and stops the thread. So does
 * closing the context.
 */
public class CompletionDispatcher internal constructor(
    /** The open device whose completions it takes. */
    public val context: Context,
    builder: CompletionDispatcherBuilder,
) : AutoCloseable {
    /** Where its completion queues announce completions. A queue for [completions] is made with it. */
    public val channel: CompletionChannel = context.completionChannel()
    internal val targets = CompletionTargets()
    internal val loop = PollLoop(channel, builder.strategy)
    private val queueEntries = builder.queueEntries
    private val queues = CopyOnWriteArrayList<PolledQueue>()

    private val poller = AtomicReference<Thread?>()

    /** Why nobody polls any more, though the channel may be open for another moment. */
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
     * Runs coroutines on the polling thread, one at a time; after the close, still one at a time, on
     * [Dispatchers.Default].
     */
    public val coroutines: CoroutineDispatcher =
        object : CoroutineDispatcher() {
            override fun isDispatchNeeded(context: CoroutineContext): Boolean = Thread.currentThread() !== poller.get()

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

    private fun pollUntilClosed() {
        // Closed before this thread began: another one runs the tasks that are left.
        if (!poller.compareAndSet(null, Thread.currentThread())) return
        try {
            while (channel.isOpen) turn()
        } catch (e: Throwable) {
            if (!channel.isOpen && e is IllegalStateException) return
            // Nobody polls any more: nothing may begin to wait, which who is told so may try at once, and what waits
            // must end.
            val cause = IllegalStateException("the thread that polled ${channel.describe()} has ended", e)
            death = cause
            failAll(cause)
            channel.close()
            throw e
        } finally {
            leave()
        }
    }

    /**
     * The calling thread polls no more. The tasks that a closed dispatcher has left waited for that, to run one at a
     * time.
     */
    private fun leave() {
        poller.set(null)
        if (!channel.isOpen) runLeftTasks()
    }

    private fun turn() {
        try {
            loop.turn()
        } catch (_: InterruptedException) {
            // Left by a coroutine that ran here, perhaps. Nobody knows this thread for an interrupt to mean that all
            // should end.
        }
    }

    private fun failAll(cause: Throwable) {
        loop.all().forEach {
            loop.remove(it)
            waking { it.fail(cause) }
        }
    }

    private fun runLeftTasks() {
        if (poller.get() == null) Dispatchers.Default.dispatch(EmptyCoroutineContext, ::runAlone)
    }

    /** Whoever adds a task while a thread is in here leaves it to that. */
    private fun runAlone() {
        while (loop.hasTasks && poller.compareAndSet(null, Thread.currentThread())) {
            try {
                do {
                    val done = loop.runTasks()
                } while (done > 0)
            } finally {
                poller.set(null)
            }
        }
    }

    /**
     * Looks at every queue once, resumes who is ready, and runs what [coroutines] has to run. Never blocks.
     *
     * @return how much there was to do; 0 is nothing
     * @throws IllegalStateException if the dispatcher has a thread of its own
     */
    public fun poll(): Int = asPoller { loop.round() }

    /**
     * Runs a coroutine on the calling thread, which polls until it has ended. Like `runBlocking`, with RDMA in place of
     * the event loop: an interrupt cancels the coroutine.
     *
     * @throws InterruptedException if the thread was interrupted, once the coroutine has ended
     * @throws IllegalStateException if the dispatcher has a thread of its own, or another thread is in here
     */
    @OptIn(ExperimentalCoroutinesApi::class)
    public fun <T> run(block: suspend CoroutineScope.() -> T): T =
        asPoller {
            val result = CoroutineScope(coroutines).async(block = block)
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

    private inline fun <T> asPoller(block: () -> T): T {
        check(
            thread == null,
        ) { "this dispatcher polls on a thread of its own; make it with callerPolls() to poll on yours" }
        check(poller.compareAndSet(null, Thread.currentThread())) { "thread ${poller.get()?.name} is polling already" }
        try {
            return block()
        } finally {
            leave()
        }
    }

    /** A queue with room for so many completions, now reserved. */
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
     * Over soft-iWARP no fewer than cover 144 pages of the device's map: its library takes the next page's number for
     * an error (SIW_INVAL_UOBJ_KEY, 0x90000), and refuses the queue pair, usually the 27th, that would begin there. A
     * queue that begins before it keeps that place from them.
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
     * Closes all that was made by it, ends all waits and stops polling. Any thread, a coroutine's on [coroutines] too.
     */
    override fun close() {
        try {
            channel.close()
        } finally {
            if (thread != null && thread !== Thread.currentThread()) thread.join()
        }
    }

    private companion object {
        /** 32 bytes each. */
        const val IWARP_ENTRIES = 32_768
    }
}

/**
 * Makes a dispatcher of completions: `device.completionDispatcher { strategy(WaitStrategy.busy()) }`.
 *
 * @throws org.kverbs.RdmaSystemException if the device refuses a completion channel
 */
public fun Context.completionDispatcher(block: CompletionDispatcherBuilder.() -> Unit = {}): CompletionDispatcher =
    CompletionDispatcher(this, CompletionDispatcherBuilder().apply(block))
