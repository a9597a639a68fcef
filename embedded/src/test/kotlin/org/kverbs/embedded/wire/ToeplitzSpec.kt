package org.kverbs.embedded.wire

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.wire.Toeplitz
import java.net.InetAddress
import java.nio.ByteBuffer
import java.util.HexFormat
import kotlin.random.Random

private const val KEY = "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"

private fun input(
    source: String,
    destination: String,
    vararg ports: Int,
): ByteArray {
    val addresses = InetAddress.getByName(source).address + InetAddress.getByName(destination).address
    val room = ByteBuffer.allocate(addresses.size + 2 * ports.size).put(addresses)
    ports.forEach { room.putShort(it.toShort()) }
    return room.array()
}

/** Checks the hash with the vectors of Microsoft's specification of receive side scaling, and with its definition. */
class ToeplitzSpec :
    FunSpec({
        fun hash(input: ByteArray) = Toeplitz(HexFormat.of().parseHex(KEY)).hash(input, input.size).toUInt().toLong()

        test("should give the hashes of the specification for IPv4, without ports and with them") {
            hash(input("66.9.149.187", "161.142.100.80")) shouldBe 0x323e8fc2
            hash(input("66.9.149.187", "161.142.100.80", 2794, 1766)) shouldBe 0x51ccc178
            hash(input("199.92.111.2", "65.69.140.83")) shouldBe 0xd718262a
            hash(input("199.92.111.2", "65.69.140.83", 14230, 4739)) shouldBe 0xc626b0ea
            hash(input("24.19.198.95", "12.22.207.184")) shouldBe 0xd2d0a5de
            hash(input("24.19.198.95", "12.22.207.184", 12898, 38024)) shouldBe 0x5c2b394a
            hash(input("38.27.205.30", "209.142.163.6")) shouldBe 0x82989176
            hash(input("38.27.205.30", "209.142.163.6", 48228, 2217)) shouldBe 0xafc7327f
            hash(input("153.39.163.191", "202.188.127.2")) shouldBe 0x5d1809c5
            hash(input("153.39.163.191", "202.188.127.2", 44251, 1303)) shouldBe 0x10e828a2
        }

        test("should give the hashes of the specification for IPv6, without ports and with them") {
            val (a, b) = "3ffe:2501:200:1fff::7" to "3ffe:2501:200:3::1"
            hash(input(a, b)) shouldBe 0x2cc18cd5
            hash(input(a, b, 2794, 1766)) shouldBe 0x40207d3d
            val c = "3ffe:501:8::260:97ff:fe40:efab"
            hash(input(c, "ff02::1")) shouldBe 0x0f0c461c
            hash(input(c, "ff02::1", 14230, 4739)) shouldBe 0xdde51bbf
            val (d, e) = "3ffe:1900:4545:3:200:f8ff:fe21:67cf" to "fe80::200:f8ff:fe21:67cf"
            hash(input(d, e)) shouldBe 0x4b61e985
            hash(input(d, e, 44251, 38024)) shouldBe 0x02d1feef
        }

        test("should be zero for no bytes, and add the hashes of inputs that are added without carry") {
            hash(ByteArray(0)) shouldBe 0
            val random = Random(3)
            repeat(1000) {
                val (one, other) = List(2) { random.nextBytes(36) }
                val both = ByteArray(36) { (one[it].toInt() xor other[it].toInt()).toByte() }
                hash(both) shouldBe (hash(one) xor hash(other))
            }
        }
    })
