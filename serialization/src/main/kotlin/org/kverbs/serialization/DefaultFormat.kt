package org.kverbs.serialization

import kotlinx.serialization.BinaryFormat
import kotlinx.serialization.cbor.Cbor

/**
 * The default format of typed messages: CBOR (RFC 8949). It encodes byte arrays as byte strings, and skips fields that
 * the receiver does not know, so that one side can be newer than the other. Both sides must use the same format.
 */
public val DefaultFormat: BinaryFormat =
    Cbor {
        alwaysUseByteString = true
        ignoreUnknownKeys = true
    }
