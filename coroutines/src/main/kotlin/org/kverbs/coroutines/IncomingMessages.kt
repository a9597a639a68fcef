package org.kverbs.coroutines

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/**
 * The messages that come over a channel, for `for (message in channel.incoming)`. The loop ends when the peer has sent its last
 * message, and with an exception if the channel fails. Several loops share the messages.
 */
public class IncomingMessages internal constructor(
    private val channel: MessageChannel,
) {
    /** Begins a loop. */
    public operator fun iterator(): Messages = Messages(channel)

    /** The same as a cold flow: each collector takes messages from the channel, several share them. */
    public fun asFlow(): Flow<ByteArray> = flow { for (message in this@IncomingMessages) emit(message) }

    /** One loop over the messages. One coroutine at a time. */
    public class Messages internal constructor(
        private val channel: MessageChannel,
    ) {
        private var message: ByteArray? = null

        /** Receives a message, and suspends until there is one. False if the peer has sent its last. */
        public suspend operator fun hasNext(): Boolean {
            if (message == null) message = channel.receiveOrNull()
            return message != null
        }

        /** The message that [hasNext] received. */
        public operator fun next(): ByteArray = checkNotNull(message) { "call hasNext() first" }.also { message = null }
    }
}
