package org.kverbs.ibtool.session

import kotlinx.coroutines.CompletableJob
import kotlinx.coroutines.Job
import sun.misc.Signal

/** Ctrl-C. The first one ends work that has a result so far, the second one ends the program. */
internal class Interrupt {
    /** Whether work was ended before it was done. */
    @Volatile
    var hasEnded: Boolean = false
        private set

    /** Does work that ends with what it has so far when its job completes. Ctrl-C completes it. */
    suspend fun <T> during(work: suspend (stop: Job) -> T): T {
        val stop = Job()
        val restore = listen(stop)
        try {
            return work(stop)
        } finally {
            restore()
        }
    }

    private fun listen(stop: CompletableJob): () -> Unit {
        val signal = Signal("INT")
        return try {
            val before = Signal.handle(signal) { end(stop) }
            ({ Signal.handle(signal, before) })
        } catch (_: IllegalArgumentException) {
            // The JVM was told to leave signals alone.
            ({ })
        }
    }

    private fun end(stop: CompletableJob) {
        // Before the work ends, whose thread asks for it then.
        hasEnded = true
        if (!stop.complete()) Runtime.getRuntime().exit(STATUS)
    }

    companion object {
        /** The exit status of a program that Ctrl-C ended. */
        const val STATUS = 130
    }
}
