package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * Thrown if a received message is not a value of the expected type: the peer uses another type or another format, or
 * sends garbage. The exception's message names the type and the length in bytes. The connection lives on, and the next
 * message can be received.
 *
 * @property type the serial name of the expected type
 * @property length the length of the message in bytes
 */
public class MessageDecodingException internal constructor(
    public val type: String,
    public val length: Int,
    cause: Throwable,
) : RdmaException("the message of $length bytes is no $type: ${cause.message ?: cause.javaClass.simpleName}", cause)
