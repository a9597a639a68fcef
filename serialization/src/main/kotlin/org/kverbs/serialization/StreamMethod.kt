package org.kverbs.serialization

import kotlinx.serialization.KSerializer
import kotlinx.serialization.serializer

/**
 * Describes a method that one side of a connection calls and the other side answers with any number of items, as a
 * flow: its name and its types.
 *
 * ```
 * val ticks = streamMethod<Int, Tick>("ticks")
 * ```
 *
 * @property name 1 to 200 bytes in UTF-8; each request contains it
 * @throws IllegalArgumentException if the name is empty or too long
 */
public class StreamMethod<Request : Any, Item : Any>(
    public val name: String,
    internal val request: KSerializer<Request>,
    internal val item: KSerializer<Item>,
) {
    init {
        requireName(name)
    }

    /** Shows the name. */
    override fun toString(): String = "stream method $name"
}

/** Creates a [StreamMethod] of serializable types; [Unit] is such a type. */
public inline fun <reified Request : Any, reified Item : Any> streamMethod(name: String): StreamMethod<Request, Item> =
    StreamMethod(name, serializer<Request>(), serializer<Item>())
