package org.kverbs.serialization

import io.kotest.core.spec.style.FunSpec
import io.kotest.property.Arb
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.int
import io.kotest.property.checkAll
import kotlinx.serialization.protobuf.ProtoBuf

/**
 * Tests that a message decodes to a value or throws [MessageDecodingException], and takes memory in proportion to its
 * length.
 */
class UntrustedMessageSpec :
    FunSpec({
        val formats = listOf(DefaultFormat, ProtoBuf.Default)
        val path = Shape.Path(listOf(1, 2, 3_000_000_000), "p")
        val value = Shape.Group(listOf(Shape.Circle(70), path), mapOf("red" to 1))

        test("should decode any bytes to a value or report an undecodable message") {
            checkAll(2000, Arb.byteArray(Arb.int(0..64), Arb.byte())) { bytes ->
                for (format in formats) decoded { format.decode(Shape.serializer(), bytes) }
            }
        }

        test("should decode a value with any byte changed to a value or report an undecodable message") {
            for (format in formats) {
                val good = format.encodeToByteArray(Shape.serializer(), value)
                for (i in good.indices) {
                    for (byte in 0..255) {
                        val bad = good.clone().also { it[i] = byte.toByte() }
                        decoded { format.decode(Shape.serializer(), bad) }
                    }
                }
            }
        }

        test("should not allocate memory for a length that a message only claims") {
            // {"points": an array of 2^31 - 1 elements, which end here}
            val claim = byteArrayOf(0x9a.toByte(), 0x7f, -1, -1, -1)
            val bytes = byteArrayOf(0xa1.toByte(), 0x66) + "points".encodeToByteArray() + claim
            decoded { DefaultFormat.decode(Shape.Path.serializer(), bytes) }
        }
    })

private fun decoded(decode: () -> Any) {
    try {
        decode()
    } catch (_: MessageDecodingException) {
    }
}
