package org.kverbs.coroutines

import org.kverbs.cm.ConnectionRejectedException

/**
 * Why a server of messages rejects a client. The client gets [text] as the rejection's private data.
 *
 * @property text as a log says it, too
 * @property isFinal whether the same client is rejected again if it asks again
 */
internal enum class Rejection(
    val text: String,
    val isFinal: Boolean,
) {
    /** The server has no room for one more connection now. */
    FULL("full", false),

    /** The server's authorize hook said nothing in time. */
    UNDECIDED("authorize took too long", false),

    /** The server's authorize hook said no. */
    NOT_AUTHORIZED("not authorized", true),

    /** The request is not that of a message channel of this version. */
    OTHER_PROTOCOL("no message channel of this version", true),
    ;

    /** As the private data of a rejection. */
    fun encode(): ByteArray = text.encodeToByteArray()

    companion object {
        private const val PADDING = '\u0000'

        /** What a server said with its rejection; null if that was none of these. */
        fun of(rejected: ConnectionRejectedException): Rejection? {
            val said = rejected.privateData().decodeToString().trimEnd(PADDING) // InfiniBand and RoCE fill it up
            return entries.firstOrNull { it.text == said }
        }
    }
}
