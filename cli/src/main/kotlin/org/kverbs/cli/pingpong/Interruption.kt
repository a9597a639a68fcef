package org.kverbs.cli.pingpong

/** Runs [action] if the process is asked to end, by Ctrl-C for one, before this is closed. */
internal class Interruption(
    action: () -> Unit,
) : AutoCloseable {
    private val hook = Thread(action)

    init {
        Runtime.getRuntime().addShutdownHook(hook)
    }

    override fun close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook)
        } catch (_: IllegalStateException) {
            Thread.sleep(Long.MAX_VALUE) // the process is ending, and why the game broke off then is nothing to tell
        }
    }
}
