package org.kverbs.coroutines

import org.kverbs.RdmaException
import org.kverbs.internal.SocketAddresses
import java.lang.System.Logger.Level.WARNING
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/** Formats an address as `10.0.0.1:7471`, without a name lookup. */
internal fun InetSocketAddress?.shown(): String = this?.let(SocketAddresses::format) ?: "an unknown address"

/**
 * Logs failures that a peer can cause as often as it likes: at most one message in each [interval], with the number of
 * messages left out since the last one. Any thread can call.
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

        /** Logs a warning that no peer can cause as often as it likes. */
        fun warn(message: String): Unit = LOG.log(WARNING, message)

        /**
         * The log of failed connections: one warning for each, with a stack trace only if the program's own code
         * failed.
         */
        val connections =
            FailureLog { message, failure ->
                if (failure is RdmaException) LOG.log(WARNING, message) else LOG.log(WARNING, message, failure)
            }
    }
}
