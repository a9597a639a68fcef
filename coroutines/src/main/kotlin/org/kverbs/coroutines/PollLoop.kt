package org.kverbs.coroutines

import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueue
import java.time.Duration
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.locks.LockSupport

/**
 * Polls completion queues, and runs tasks between the rounds. One thread at a time calls [round] or [turn]; any thread
 * can call the other functions.
 */
internal class PollLoop(
    private val channel: CompletionChannel,
    private var strategy: WaitStrategy,
) {
    /** An array that is replaced and never changed, so that a round needs no iterator. */
    @Volatile
    private var queues = emptyArray<Pollable>()
    private val tasks = ConcurrentLinkedQueue<Runnable>()

    /** How often the coroutine that runs can still look for a completion before it must suspend. */
    private var looksLeft = LOOKS

    /** When the first coroutine of this round had looked as often as it can, by [System.nanoTime]; 0 for never. */
    private var turnsBegan = 0L

    /** True if this round lets no further coroutine look: its time is over, or somebody waits for the thread. */
    @Volatile private var mustEnd = false
    private var isLooking = false
    private val glance = Glance()

    /** True while a coroutine runs that [tryRunHere] has resumed. */
    private var isRunningHere = false

    /** The results that came meanwhile, each behind the wait of its coroutine. */
    private val later = ArrayDeque<Any>()

    /** The credits of the queues that keep some in this round. */
    private val keeping = ArrayList<KeptCredits>()
    private var unacked = 0
    private var empty = 0

    /** Rounds without a completion since the last [offer] of the processor. */
    private var spins = 0

    // Only the polling thread writes these.
    private val ranTasks = AtomicLong()
    private val sleeps = AtomicLong()

    /** Number of tasks run. */
    val taskCount: Long get() = ranTasks.acquire

    /** Number of times that the polling thread waited. */
    val sleepCount: Long get() = sleeps.acquire

    @Volatile
    private var sleep = AWAKE

    @Volatile
    private var sleeper: Thread? = null

    fun add(queue: Pollable) {
        synchronized(this) { queues += queue }
        wake()
    }

    fun remove(queue: Pollable) {
        synchronized(this) { queues = queues.filterNot { it === queue }.toTypedArray() }
    }

    /** Returns all queues at this moment. */
    fun all(): List<Pollable> = queues.asList()

    /** Runs a task on the polling thread. */
    fun run(task: Runnable) {
        tasks.add(task)
        wake()
    }

    /** True if there are tasks to run. */
    val hasTasks: Boolean get() = tasks.isNotEmpty()

    fun wake() {
        if (!mustEnd) mustEnd = true
        when (sleep) {
            PARKED -> LockSupport.unpark(sleeper)
            WAITING -> if (channel.isOpen) wakeChannel()
        }
    }

    private fun wakeChannel() {
        try {
            channel.wakeup()
        } catch (_: IllegalStateException) {
            // closed meanwhile, which wakes the thread for good
        }
    }

    /** Runs the tasks and polls every queue once. Returns the number of tasks and completions. */
    fun round(): Int {
        looksLeft = LOOKS
        turnsBegan = 0
        if (mustEnd) mustEnd = false // no fence in a round that nobody asked to end
        val tasks = runTasks()
        val completions = pollAll()
        if (completions > 0) spins = 0
        return tasks + completions
    }

    /**
     * Returns the stand-in for a coroutine on this thread that wants to look for the completion of its request before
     * it suspends. Null if it must suspend: another coroutine is looking further up the stack, this one has looked 256
     * times, or the coroutines of this round have looked for so long that others would wait too long.
     */
    fun glance(): Glance? {
        if (isLooking) return null
        if (looksLeft > 0) return glance
        endTurn()
        return null
    }

    /**
     * Lets the next coroutine look, as the one that runs is about to suspend. None looks until the next round if the
     * dispatcher has tasks or another queue, if somebody has woken the thread or interrupted it, or if coroutines have
     * looked like this for half a millisecond: on an embedded device a post takes the time of the copy.
     */
    private fun endTurn() {
        if (mustEnd || tasks.isNotEmpty() || queues.size > 1) return
        val now = System.nanoTime()
        if (turnsBegan == 0L) turnsBegan = now
        if (now - turnsBegan > TURNS_NANOS ||
            Thread.currentThread().isInterrupted
        ) {
            mustEnd = true
        } else {
            looksLeft = LOOKS
        }
    }

    /** Handles the completions of one queue that are there now, unless [glance] is null. For the polling thread. */
    fun look(queue: PolledQueue) {
        if (isLooking || looksLeft == 0) return
        looksLeft--
        isLooking = true
        try {
            queue.take()
        } catch (e: Throwable) {
            lose(queue, e) // as a round does
        } finally {
            isLooking = false
        }
    }

    /**
     * Resumes the coroutine of [wait] with its result, for the polling thread that takes the completion. If a coroutine
     * runs that this has resumed, and looks for its own completion, the other one runs when it has suspended. False if
     * another coroutine looks: its dispatcher decides when the other one runs.
     */
    fun tryRunHere(
        wait: PollingWait,
        result: Any,
    ): Boolean {
        if (isRunningHere) {
            later.addLast(wait)
            later.addLast(result)
            return true
        }
        if (isLooking) return false
        isRunningHere = true
        try {
            waking { wait.resumeWith(Result.success(result)) }
            while (later.isNotEmpty()) {
                val next = later.removeFirst() as PollingWait
                val its = later.removeFirst()
                waking { next.resumeWith(Result.success(its)) }
            }
        } finally {
            isRunningHere = false
        }
        return true
    }

    /** Has the polling thread give back what it keeps of [credits] at the end of this round. It alone calls this. */
    fun atEndOfRound(credits: KeptCredits) {
        keeping.add(credits)
    }

    /** Releases the credits that this thread keeps: it ends a round, or polls no more. */
    fun endRound() {
        // A caller that gets a credit can run here, and post and look: the list can grow meanwhile.
        var i = 0
        while (i < keeping.size) {
            val kept = keeping[i++]
            waking { kept.endRound() }
        }
        keeping.clear()
    }

    private fun pollAll(): Int {
        var done = 0
        for (queue in queues) {
            try {
                done += queue.poll()
            } catch (e: Throwable) {
                // The queue is closed or broken; the other queues live on.
                lose(queue, e)
                done++
            }
        }
        if (keeping.isNotEmpty()) endRound()
        return done
    }

    private fun lose(
        queue: Pollable,
        failure: Throwable,
    ) {
        remove(queue)
        val cause =
            failure as? IllegalStateException
                ?: IllegalStateException(
                    "the completions of ${queue.cq.describe()} can't be polled any more: ${failure.message}",
                    failure,
                )
        waking { queue.fail(cause) }
    }

    /** Runs the tasks that [run] was given. Returns their number. */
    fun runTasks(): Int {
        var done = 0
        while (done < BATCH) {
            val task = tasks.poll() ?: break
            waking { task.run() }
            done++
        }
        if (done > 0) ranTasks.add(done)
        return done
    }

    /** Makes one round, and waits as the strategy says if it found nothing. */
    fun turn() {
        if (round() > 0) {
            empty = 0
            offer() // a coroutine that waits by yield() makes each round one with a task
            return
        }
        if (empty < Int.MAX_VALUE) empty++
        when (val nanos = idle()) {
            WaitStrategy.SPIN -> spin()
            WaitStrategy.EVENT -> awaitEvent()
            else -> park(nanos)
        }
    }

    /** Lets the processor pause. */
    private fun spin() {
        if (!offer()) Thread.onSpinWait()
    }

    /**
     * Offers the processor to another thread, once in many rounds that took no completion. What this thread polls for
     * can be the work of a thread that waits for this processor, such as the polling thread of a peer in the same
     * process. Without the offer it waits for the end of a time slice: milliseconds for each message. A virtual thread
     * has no time slices, and sleeps for a moment: JDK 25 can run those that yield again and again alone.
     */
    private fun offer(): Boolean {
        if (++spins < ROUNDS_UNTIL_OFFER) return false
        spins = 0
        if (Thread.currentThread().isVirtual) LockSupport.parkNanos(1) else Thread.yield()
        return true
    }

    /** Asks the strategy. A strategy that throws is replaced. */
    private fun idle(): Long =
        try {
            strategy.idle(empty)
        } catch (e: Throwable) {
            reportUncaught(e)
            strategy = WaitStrategy.adaptive()
            WaitStrategy.SPIN
        }

    private fun park(nanos: Long) {
        sleeps.add(1)
        sleeper = Thread.currentThread()
        sleep = PARKED
        if (tasks.isEmpty()) LockSupport.parkNanos(nanos)
        sleep = AWAKE
        // Clear an interrupt: an interrupted thread never parks, and would spin.
        if (Thread.interrupted()) throw InterruptedException("interrupted while it waited for completions")
    }

    /**
     * Arms the queues, polls once more, then waits: a completion between the last poll and the arming causes no event.
     */
    private fun awaitEvent() {
        sleep = WAITING
        try {
            if (armAll() && tasks.isEmpty() && pollAll() == 0) {
                sleeps.add(1)
                val event = channel.awaitEvent(FOREVER)
                if (event != null) noteEvent(event)
            }
        } catch (e: IllegalStateException) {
            if (channel.isOpen) throw e // otherwise the channel was closed meanwhile
        } finally {
            sleep = AWAKE
        }
    }

    private fun armAll(): Boolean {
        for (queue in queues) {
            try {
                queue.arm()
            } catch (e: Throwable) {
                lose(queue, e)
                return false
            }
        }
        return true
    }

    private fun noteEvent(cq: CompletionQueue) {
        for (queue in queues) {
            if (queue.cq === cq) queue.isArmed = false
        }
        if (++unacked >= BATCH) {
            unacked = 0
            for (queue in queues) ack(queue)
        }
    }

    private fun ack(queue: Pollable) {
        try {
            queue.cq.ackEvents()
        } catch (_: IllegalStateException) {
            // the queue was closed meanwhile, which acknowledges its events
        }
    }

    private companion object {
        const val BATCH = 64

        /** Some 15 us: a thread that gets its completions sooner makes no offer. */
        const val ROUNDS_UNTIL_OFFER = 512
        const val LOOKS = 256
        const val TURNS_NANOS = 500_000L
        const val AWAKE = 0
        const val PARKED = 1
        const val WAITING = 2
        val FOREVER: Duration = Duration.ofDays(1)
    }
}

/** Adds to a number that only the calling thread changes: by a plain store on x86, while others read. */
internal fun AtomicLong.add(count: Int): Unit = setRelease(plain + count)
