package org.kverbs.coroutines

import kotlinx.coroutines.delay
import kotlin.time.Duration

/**
 * Ends the connections of a server over which nothing came or went for [timeout], at most a quarter of it later. A
 * client's operations on this side's memory count when the client's [ChannelKeepAlive] reports them. One coroutine
 * serves all connections.
 */
internal class IdleWatch(
    private val timeout: Duration,
    private val open: Set<MessageConnection>,
) {
    private class Seen(
        val activity: Long,
    ) {
        var looks = 0
    }

    private val seen = HashMap<MessageConnection, Seen>()

    suspend fun watch() {
        while (true) {
            delay(timeout / LOOKS)
            seen.keys.retainAll(open)
            open.forEach(::look)
        }
    }

    private fun look(connection: MessageConnection) {
        val activity = connection.channel.activity
        val before = seen[connection]
        if (before == null || before.activity != activity) {
            seen[connection] = Seen(activity)
        } else if (++before.looks == LOOKS) {
            val why = "no message went over it for $timeout (idleTimeout)"
            val failure = LostConnection(connection.remoteAddress, why)
            connection.channel.fail(failure)
            closeAll(connection, cause = failure) // an exception of close must not end the watch
        }
    }

    private companion object {
        const val LOOKS = 4
    }
}
