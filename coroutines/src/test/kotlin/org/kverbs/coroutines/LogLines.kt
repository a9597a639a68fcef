package org.kverbs.coroutines

import java.util.concurrent.CopyOnWriteArrayList
import java.util.logging.Handler
import java.util.logging.LogRecord
import java.util.logging.Logger

/** Keeps log lines instead of showing them. */
class LogLines : Handler() {
    val lines = CopyOnWriteArrayList<String>()

    override fun publish(record: LogRecord) {
        lines += record.message
    }

    override fun flush() = Unit

    override fun close() = Unit
}

/** Runs a block while the log lines of kverbs are kept instead of shown. */
suspend fun <R> logged(block: suspend (LogLines) -> R): R {
    val logger = Logger.getLogger("org.kverbs")
    val kept = LogLines()
    logger.addHandler(kept)
    logger.useParentHandlers = false
    try {
        return block(kept)
    } finally {
        logger.useParentHandlers = true
        logger.removeHandler(kept)
    }
}
