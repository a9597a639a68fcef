package org.kverbs.serialization

import kotlinx.serialization.KSerializer
import kotlinx.serialization.serializer

/**
 * Describes a method that one side of a connection calls and the other side answers once: its name and its types. Both
 * sides use the same declaration, from a file that they share:
 *
 * ```
 * val greet = method<Name, Greeting>("greet")
 * ```
 *
 * @property name 1 to 200 bytes in UTF-8; each request contains it
 * @throws IllegalArgumentException if the name is empty or too long
 */
public class Method<Request : Any, Answer : Any>(
    public val name: String,
    internal val request: KSerializer<Request>,
    internal val answer: KSerializer<Answer>,
) {
    init {
        requireName(name)
    }

    /** Shows the name. */
    override fun toString(): String = "method $name"
}

/** Creates a [Method] of serializable types; [Unit] is such a type. */
public inline fun <reified Request : Any, reified Answer : Any> method(name: String): Method<Request, Answer> =
    Method(name, serializer<Request>(), serializer<Answer>())

internal fun requireName(name: String) {
    val bytes = name.encodeToByteArray().size
    require(bytes in 1..MAX_NAME) { "a method's name can't have $bytes bytes; give 1 to $MAX_NAME" }
}
