package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * A message that came is no value of the type that was expected: the peer uses another type, another format, or sends
 * garbage. The message names the type and the length in bytes. The connection lives on, and the next message can be
 * received.
 *
 * @property type the type that was expected, by its serial name
 * @property length how many bytes the peer sent
 */
public class MessageDecodingException internal constructor(
    public val type: String,
    public val length: Int,
    cause: Throwable,
) : RdmaException("the message of $length bytes is no $type: ${cause.message ?: cause.javaClass.simpleName}", cause)
