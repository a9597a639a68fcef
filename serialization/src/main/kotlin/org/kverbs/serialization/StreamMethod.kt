package org.kverbs.serialization

import kotlinx.serialization.KSerializer
import kotlinx.serialization.serializer

/**
 * A method that is answered by any number of items, as a flow: its name and its types.
 *
 * ```
 * val ticks = streamMethod<Int, Tick>("ticks")
 * ```
 *
 * @property name 1 to 200 bytes in UTF-8; it goes along with each request
 * @throws IllegalArgumentException if the name is too short or too long
 */
public class StreamMethod<Request : Any, Item : Any>(
    public val name: String,
    internal val request: KSerializer<Request>,
    internal val item: KSerializer<Item>,
) {
    init {
        requireName(name)
    }

    /** Says the name. */
    override fun toString(): String = "stream method $name"
}

/** A [StreamMethod] of serializable types; [Unit] is one. */
public inline fun <reified Request : Any, reified Item : Any> streamMethod(name: String): StreamMethod<Request, Item> =
    StreamMethod(name, serializer<Request>(), serializer<Item>())
