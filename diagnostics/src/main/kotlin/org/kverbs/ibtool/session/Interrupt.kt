package org.kverbs.ibtool.session

import kotlinx.coroutines.CompletableJob
import kotlinx.coroutines.Job
import sun.misc.Signal
import java.util.concurrent.atomic.AtomicBoolean

/**
 * Ctrl-C. The first one ends work that has a result so far, the second one ends the program.
 *
 * @param exit ends the program with a status
 */
internal class Interrupt(
    private val exit: (Int) -> Unit = { Runtime.getRuntime().exit(it) },
) {
    private val wasPressed = AtomicBoolean()

    @Volatile
    private var stop: CompletableJob? = null

    /** Whether work was ended before it was done. */
    val hasEnded: Boolean get() = wasPressed.get()

    /** Does work that ends with what it has so far when its job completes. Ctrl-C completes it. */
    suspend fun <T> during(work: suspend (stop: Job) -> T): T {
        val stop = Job()
        this.stop = stop
        val restore = listen()
        try {
            return work(stop)
        } finally {
            restore()
        }
    }

    private fun listen(): () -> Unit {
        val signal = Signal("INT")
        return try {
            val before = Signal.handle(signal) { press() }
            ({ Signal.handle(signal, before) })
        } catch (_: IllegalArgumentException) {
            // The JVM was told to leave signals alone.
            ({ })
        }
    }

    /** What Ctrl-C does. The second one ends the program in whatever stage of the work it comes. */
    fun press() {
        // The work's thread asks for the flag when the work ends.
        if (wasPressed.getAndSet(true)) exit(STATUS) else stop?.complete()
    }

    companion object {
        /** The exit status of a program that Ctrl-C ended. */
        const val STATUS = 130
    }
}
