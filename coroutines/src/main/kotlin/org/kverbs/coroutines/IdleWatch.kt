package org.kverbs.coroutines

import kotlinx.coroutines.delay
import kotlin.time.Duration

/**
 * Ends the connections of a server over which nothing has gone for [timeout], at most a quarter later. What a client
 * does with this side's memory counts when its [ChannelKeepAlive] says so. One coroutine for all of them.
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
            closeAll(connection, cause = failure) // what that throws must not end the watch
        }
    }

    private companion object {
        const val LOOKS = 4
    }
}
