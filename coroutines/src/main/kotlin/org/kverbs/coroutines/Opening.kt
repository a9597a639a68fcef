package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.attributes.TransportType

/**
 * Which side of a channel speaks first. On InfiniBand and RoCE either side may. Over iWARP the side that accepted must
 * not send before the side that connected has sent (RFC 5044, section 7.1.2); if it does, soft-iWARP fails the
 * connect with EINVAL. So the connecting side sends an empty message, and the accepting side waits for it.
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
