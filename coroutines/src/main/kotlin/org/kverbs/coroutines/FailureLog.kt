package org.kverbs.coroutines

import org.kverbs.RdmaException
import org.kverbs.internal.SocketAddresses
import java.lang.System.Logger.Level.WARNING
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/** `10.0.0.1:7471`, without asking for a name. */
internal fun InetSocketAddress?.shown(): String = this?.let(SocketAddresses::format) ?: "an unknown address"

/**
 * Logs failures that a peer can cause as often as it likes: one message an [interval] at most, which says how many were
 * left out since the one before. Any thread may use it.
 */
internal class FailureLog(
    private val interval: Duration = 1.seconds,
    private val clock: TimeSource = TimeSource.Monotonic,
    private val write: (String, Throwable) -> Unit,
) {
    private var next = clock.markNow()
    private var leftOut = 0

    @Synchronized
    fun add(
        message: String,
        failure: Throwable,
    ) {
        if (next.hasNotPassedNow()) {
            leftOut++
            return
        }
        next = clock.markNow() + interval
        write(if (leftOut == 0) message else "$message (and $leftOut more since the last such message)", failure)
        leftOut = 0
    }

    companion object {
        private val LOG: System.Logger = System.getLogger("org.kverbs.coroutines")

        /** Logs what no peer can cause as often as it likes. */
        fun warn(message: String): Unit = LOG.log(WARNING, message)

        /**
         * That of connections: a line for each as a warning, with a stack trace only if it is the program's own code
         * that failed.
         */
        val connections =
            FailureLog { message, failure ->
                if (failure is RdmaException) LOG.log(WARNING, message) else LOG.log(WARNING, message, failure)
            }
    }
}
