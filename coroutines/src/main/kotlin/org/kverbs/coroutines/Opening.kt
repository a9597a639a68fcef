package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.TransportType

/**
 * Who may speak first on a channel. On InfiniBand and RoCE both may. Over iWARP who has accepted must not send before
 * something has come from who has asked (RFC 5044, section 7.1.2), and soft-iWARP fails the connect with EINVAL where
 * it does: so a message without content goes first, and the other side waits for it.
 */
internal enum class Opening {
    FREE,
    SPEAKS,
    LISTENS,
    ;

    companion object {
        fun of(
            context: Context,
            hasAsked: Boolean,
        ): Opening =
            when {
                context.device().transportType() != TransportType.IWARP -> FREE
                hasAsked -> SPEAKS
                else -> LISTENS
            }
    }
}
