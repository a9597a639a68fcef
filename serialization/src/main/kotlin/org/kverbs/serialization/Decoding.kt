package org.kverbs.serialization

import kotlinx.serialization.BinaryFormat
import kotlinx.serialization.DeserializationStrategy

/**
 * Decodes bytes of a peer that is not trusted. A deeply nested message can overflow the stack of a recursive
 * serializer; this is a decoding failure, too.
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
