package org.kverbs.coroutines

import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletions
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

/**
 * A completion queue of a dispatcher, with its free entries and the targets of its completions.
 *
 * @param wake wakes the polling thread if it sleeps
 */
internal class PolledQueue(
    cq: CompletionQueue,
    private val targets: CompletionTargets,
    private val wake: () -> Unit,
) : Pollable(cq) {
    val capacity = cq.entries()
    private val reserved = AtomicInteger()

    /** Number of entries that request queues have reserved. */
    val reservedCount: Int get() = reserved.get()

    /** Entries of request queues that are gone, but whose last completions can still be in this queue. */
    private val leaving = AtomicInteger()

    /** An action to run when the completions of a moment have been taken, and the most that can be left of them. */
    private class Step(
        var left: Int,
        val action: () -> Unit,
    )

    private val steps = ConcurrentLinkedQueue<Step>()
    private val users: MutableSet<CompletionTarget> = ConcurrentHashMap.newKeySet()

    @Volatile
    private var isOver = false

    private val batch = WorkCompletions(BATCH)

    /** The completions of the batch that were not handled yet: from [next] until [end]. Used by the polling thread. */
    private var next = 0
    private var end = 0

    /** Reserves entries for [completions]; false if there are not enough. */
    fun reserve(completions: Int): Boolean {
        while (true) {
            val now = reserved.get()
            if (now + completions > capacity) return false
            if (reserved.compareAndSet(now, now + completions)) return true
        }
    }

    /** Gives entries back; they are free when the queue has been emptied once. */
    fun giveBack(completions: Int) {
        leaving.addAndGet(completions)
        // Wake the thread: if no completion ever comes again, nothing else frees the entries.
        wake()
    }

    /**
     * Runs [action] on the polling thread when every completion that is in the queue now has been handled. If the queue
     * is no longer polled, runs it on any thread, after all targets were failed. Any thread can call.
     */
    fun onceEmptied(action: () -> Unit) {
        steps.add(Step(capacity, action))
        if (isOver) runSteps() else wake()
    }

    fun add(user: CompletionTarget) {
        users.add(user)
    }

    fun remove(user: CompletionTarget) {
        users.remove(user)
    }

    override fun poll(): Int {
        val left = leaving.get()
        val due = if (steps.isEmpty()) 0 else steps.size
        val count = take()
        if (left > 0 && count < BATCH) {
            leaving.addAndGet(-left)
            reserved.addAndGet(-left)
        }
        if (due > 0) advance(due, count, count < BATCH)
        return count
    }

    /**
     * Takes completions and gives them to their targets. A coroutine that runs meanwhile can call this, too: then it
     * first handles what the caller further up has taken, so that completions keep their order.
     */
    fun take(): Int {
        handle()
        VectorRegisters.clearUpperHalves()
        val count = cq.poll(batch)
        if (count > 0) targets.took(count)
        next = 0
        end = count
        handle()
        return count
    }

    private fun handle() {
        while (next < end) targets.complete(batch[next++])
    }

    private fun advance(
        due: Int,
        count: Int,
        isEmpty: Boolean,
    ) {
        val oldest = steps.iterator()
        repeat(due) {
            if (!oldest.hasNext()) return // another thread runs the steps: the queue is no longer polled
            val step = oldest.next()
            step.left -= count
            if ((isEmpty || step.left <= 0) && steps.remove(step)) waking(step.action)
        }
    }

    private fun runSteps() {
        while (true) waking((steps.poll() ?: return).action)
    }

    override fun fail(cause: Throwable) {
        users.forEach { waking { it.fail(cause) } }
        users.clear()
        isOver = true
        runSteps()
    }

    private companion object {
        const val BATCH = 64
    }
}
