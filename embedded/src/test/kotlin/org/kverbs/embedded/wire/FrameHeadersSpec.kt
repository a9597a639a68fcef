package org.kverbs.embedded.wire

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.wire.FrameHeaders
import org.kverbs.embedded.internal.wire.HeaderLayer
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.util.HexFormat
import kotlin.random.Random

private const val ETHERNET = "0200000000010200000000990800"
private const val ETHERNET_V6 = "02000000000102000000009986dd"
private const val IPV4 = "4500003c0000000040110000c0000263c6336407"
private const val IPV6 = "60012345003011400000000000000000000000000000000120010db8000000000000000000000001"
private const val VXLAN = "04d212b500380000" + "0800000000000500"
private const val UDP = "04d2003500080000"
private const val ROOM = 512

/** Checks that no frame, whatever it says, makes the reader look behind its end. */
class FrameHeadersSpec :
    FunSpec({
        val whole =
            listOf(
                ETHERNET + IPV4 + UDP,
                ETHERNET_V6 + IPV6 + UDP,
                ETHERNET_V6 + IPV6.replaceRange(12, 14, "00") + "1100000000000000" + UDP,
                ETHERNET + IPV4 + VXLAN + ETHERNET + IPV4 + UDP,
                ETHERNET.dropLast(4) + "88a8000181000002" + "0800" + IPV4 + UDP,
            ).map { HexFormat.of().parseHex(it) }

        test("should find the headers of whole frames") {
            Arena.ofConfined().use { arena ->
                val memory = arena.allocate(ROOM.toLong())
                whole.map { present(it, it.size, memory) } shouldBe
                    listOf(
                        "ETHERNET IPV4 UDP",
                        "ETHERNET IPV6 UDP",
                        "ETHERNET IPV6 UDP",
                        "ETHERNET IPV4 UDP VXLAN inner ETHERNET inner IPV4 inner UDP",
                        "ETHERNET IPV4 UDP",
                    )
            }
        }

        test("should find the same headers in a frame, whatever stands behind its end") {
            val random = Random(42)
            Arena.ofConfined().use { arena ->
                val memory = arena.allocate(ROOM.toLong())
                repeat(200_000) {
                    val frame = whole.random(random).copyOf()
                    repeat(random.nextInt(4)) { frame[random.nextInt(frame.size)] = random.nextInt().toByte() }
                    val length = random.nextInt(frame.size + 1)
                    memory.fill(0)
                    val before = present(frame, length, memory)
                    memory.fill(random.nextInt().toByte())
                    withClue("$length of ${HexFormat.of().formatHex(frame)}") {
                        present(frame, length, memory) shouldBe before
                    }
                }
            }
        }
    })

private val headers = FrameHeaders()

/** Masks that ask for no bit. */
private val masks = HeaderLayer.entries.associateWith { ByteArray(if (it == HeaderLayer.ETHERNET) 16 else 0) }

/** Returns the headers that are found in the first [length] bytes of a frame, and leaves the memory behind them. */
private fun present(
    frame: ByteArray,
    length: Int,
    memory: MemorySegment,
): String {
    MemorySegment.copy(frame, 0, memory, JAVA_BYTE, 0, length)
    headers.read(memory.address(), length)
    return listOf(false, true)
        .flatMap { isInner -> HeaderLayer.entries.map { it to isInner } }
        .filter { (layer, isInner) -> headers.match(layer, isInner, ByteArray(16), masks.getValue(layer)) }
        .joinToString(" ") { (layer, isInner) -> if (isInner) "inner $layer" else "$layer" }
}
