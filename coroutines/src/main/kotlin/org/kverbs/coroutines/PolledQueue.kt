package org.kverbs.coroutines

import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletions
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

/**
 * A completion queue of a dispatcher, the room in it, and whose completions come there.
 *
 * @param wake makes the polling thread look here, should it sleep
 */
internal class PolledQueue(
    cq: CompletionQueue,
    private val targets: CompletionTargets,
    private val wake: () -> Unit,
) : Pollable(cq) {
    private val capacity = cq.entries()
    private val reserved = AtomicInteger()

    /** Room of queues that are gone, but whose last completions may still stand here. */
    private val leaving = AtomicInteger()

    /** What is to be done when the completions of a moment have been taken out, with how many they can be at most. */
    private class Step(
        var left: Int,
        val action: () -> Unit,
    )

    private val steps = ConcurrentLinkedQueue<Step>()
    private val users: MutableSet<CompletionTarget> = ConcurrentHashMap.newKeySet()

    @Volatile
    private var isOver = false

    /** Takes room for so many completions, if there is. */
    fun reserve(completions: Int): Boolean {
        while (true) {
            val now = reserved.get()
            if (now + completions > capacity) return false
            if (reserved.compareAndSet(now, now + completions)) return true
        }
    }

    /** Gives room back; it is free when the queue has been emptied once. */
    fun giveBack(completions: Int) {
        leaving.addAndGet(completions)
        // Nothing may ever complete here again, and then the room would stay taken.
        wake()
    }

    /**
     * Runs [action] on the polling thread when every completion that stands here now has been handed on, or on any
     * thread when nothing is polled here any more and all were told so before. Any thread.
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

    override fun poll(batch: WorkCompletions): Int {
        val left = leaving.get()
        val due = if (steps.isEmpty()) 0 else steps.size
        val count = cq.poll(batch)
        for (i in 0 until count) targets.complete(batch[i])
        if (left > 0 && count < batch.capacity()) {
            leaving.addAndGet(-left)
            reserved.addAndGet(-left)
        }
        if (due > 0) advance(due, count, count < batch.capacity())
        return count
    }

    private fun advance(
        due: Int,
        count: Int,
        isEmpty: Boolean,
    ) {
        val oldest = steps.iterator()
        repeat(due) {
            if (!oldest.hasNext()) return // they are run by another thread: nothing is polled here any more
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
}
