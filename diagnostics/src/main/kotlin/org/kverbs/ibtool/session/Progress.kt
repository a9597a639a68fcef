package org.kverbs.ibtool.session

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/**
 * Shows how far work is, in a line that is drawn again and again, and cleared at the end.
 *
 * @param terminal what is drawn on
 * @param patience how long work lasts before there is a line
 */
internal class Progress(
    private val terminal: Appendable,
    private val patience: Duration = 1.seconds,
) {
    /** Does [work], and shows meanwhile what [text] returns. */
    suspend fun <T> during(
        text: () -> String,
        work: suspend () -> T,
    ): T =
        coroutineScope {
            // Work can keep the thread of this coroutine busy.
            val line = launch(Dispatchers.Default) { draw(text) }
            try {
                work()
            } finally {
                withContext(NonCancellable) { line.cancelAndJoin() }
            }
        }

    private suspend fun draw(text: () -> String) {
        delay(patience)
        try {
            while (true) {
                // The cursor goes back to the beginning, so that another message takes the place of the line.
                terminal.append("$CLEAR${text().take(COLUMNS)}\r")
                delay(period)
            }
        } finally {
            terminal.append(CLEAR)
        }
    }

    companion object {
        private const val CLEAR = "\r\u001b[K"
        private const val COLUMNS = 79
        private val period = 200.milliseconds
        private const val ERRORS = 2

        /** The progress on standard error, or null if that is no terminal. */
        fun ofProgram(): Progress? = if (Terminals.has(ERRORS)) Progress(System.err) else null
    }
}
