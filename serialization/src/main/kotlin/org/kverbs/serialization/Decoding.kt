package org.kverbs.serialization

import kotlinx.serialization.BinaryFormat
import kotlinx.serialization.DeserializationStrategy

/**
 * Decodes bytes that a peer chose. A deeply nested message overflows the stack of a recursive serializer, which is the
 * peer's fault, too.
 */
internal fun <T> BinaryFormat.decode(
    deserializer: DeserializationStrategy<T>,
    bytes: ByteArray,
): T =
    try {
        decodeFromByteArray(deserializer, bytes)
    } catch (e: Exception) {
        throw MessageDecodingException(deserializer.descriptor.serialName, bytes.size, e)
    } catch (e: StackOverflowError) {
        throw MessageDecodingException(deserializer.descriptor.serialName, bytes.size, e)
    }
