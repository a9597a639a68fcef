package org.kverbs.testkit

import java.lang.System.Logger.Level.ERROR
import kotlin.time.Duration
import kotlin.time.toJavaDuration

/**
 * Checks, on a thread of its own, whether a task keeps the thread of a test for more than [patience], in real time. If
 * so, it interrupts the thread, and [failure] shows the place. If an interrupt does not end the task, as with a wait
 * for a monitor, the watchdog logs that.
 */
internal class Watchdog(
    private val patience: Duration,
) : AutoCloseable {
    private val watched = Thread.currentThread()

    /** Counts begins and ends of tasks: odd while a task runs. */
    @Volatile
    private var tasks = 0L

    /** The failure of the test if a task blocked the thread. */
    @Volatile
    var failure: AssertionError? = null
        private set

    // A thread that the test started would count as one that may still use the devices: see StartedThreads.
    private val watcher =
        Thread
            .ofPlatform()
            .daemon()
            .inheritInheritableThreadLocals(false)
            .name("kverbs-test-watchdog")
            .start(::watch)

    /** Runs a task. An interrupt by the watchdog ends with the task. */
    fun run(task: Runnable) {
        tasks++
        try {
            task.run()
        } finally {
            synchronized(this) {
                tasks++
                if (failure != null) Thread.interrupted()
            }
        }
    }

    private fun watch() {
        try {
            var seen = 0L
            var looks = 0
            while (true) {
                Thread.sleep((patience / LOOKS).toJavaDuration())
                looks = if (tasks == seen) looks + 1 else 0
                seen = tasks
                val isOld = looks > 0 && looks % LOOKS == 0
                if (isOld) synchronized(this) { if (tasks == seen && seen % 2 == 1L) report() }
            }
        } catch (_: InterruptedException) {
            // the test has ended
        }
    }

    private fun report() {
        val known = failure
        if (known == null) {
            val why = "a coroutine blocks the thread of the block and all its coroutines for more than $patience at"
            failure =
                AssertionError("$why the place that this stack trace shows").also { it.stackTrace = watched.stackTrace }
            watched.interrupt()
        } else {
            val log = System.getLogger("org.kverbs.testkit")
            log.log(ERROR, "this test hangs: an interrupt did not end the coroutine that blocks its thread", known)
        }
    }

    override fun close() {
        watcher.interrupt()
        watcher.join()
    }

    private companion object {
        const val LOOKS = 4
    }
}
