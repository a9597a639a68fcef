package org.kverbs.coroutines

import org.kverbs.cm.ConnectionRejectedException

/**
 * The reason why a message server rejects a client. The client gets [text] as the rejection's private data.
 *
 * @property text the reason in words, also for logs
 * @property isFinal true if another attempt of the same client is rejected, too
 */
internal enum class Rejection(
    val text: String,
    val isFinal: Boolean,
) {
    /** The server cannot take another connection now. */
    FULL("full", false),

    /** The server's authorize function did not decide in time. */
    UNDECIDED("authorize took too long", false),

    /** The server's authorize function refused the client. */
    NOT_AUTHORIZED("not authorized", true),

    /** The request is not that of a message channel of this version. */
    OTHER_PROTOCOL("no message channel of this version", true),
    ;

    /** Returns the reason as private data of a rejection. */
    fun encode(): ByteArray = text.encodeToByteArray()

    companion object {
        private const val PADDING = '\u0000'

        /** Returns the reason of a server's rejection; null if it is none of these. */
        fun of(rejected: ConnectionRejectedException): Rejection? {
            val said = rejected.privateData().decodeToString().trimEnd(PADDING) // InfiniBand and RoCE pad it with zeros
            return entries.firstOrNull { it.text == said }
        }
    }
}
