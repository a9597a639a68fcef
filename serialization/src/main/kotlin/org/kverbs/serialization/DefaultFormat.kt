package org.kverbs.serialization

import kotlinx.serialization.BinaryFormat
import kotlinx.serialization.cbor.Cbor

/**
 * The format of typed messages if no other is named: CBOR (RFC 8949). Byte arrays are byte strings, and fields that the
 * receiver does not know are skipped, so that one side can be newer than the other. Both sides must use the same
 * format.
 */
public val DefaultFormat: BinaryFormat =
    Cbor {
        alwaysUseByteString = true
        ignoreUnknownKeys = true
    }
