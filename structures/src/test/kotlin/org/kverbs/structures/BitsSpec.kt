package org.kverbs.structures

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.property.Arb
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.long
import io.kotest.property.checkAll
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.management.ManagementFactory
import java.math.BigInteger
import kotlin.random.Random

private fun ByteArray.number() = BigInteger(1, this)

class BitsSpec :
    FunSpec({
        test("should read and write any width at any offset as a big number does, and leave the other bits") {
            checkAll(5_000, Arb.int(1..64), Arb.int(0..200), Arb.long()) { width, bit, value ->
                val bytes = Random(value).nextBytes(40)
                val before = bytes.number()
                val shift = 320 - bit - width
                val mask = BigInteger.ONE.shiftLeft(width) - BigInteger.ONE
                val segment = MemorySegment.ofArray(bytes)
                Bits.read(segment, 0, bit, width) shouldBe before.shiftRight(shift).and(mask).toLong()
                Bits.write(segment, 0, bit, width, value)
                val field = BigInteger(java.lang.Long.toUnsignedString(value)).and(mask)
                bytes.number() shouldBe before.andNot(mask.shiftLeft(shift)).or(field.shiftLeft(shift))
                Bits.read(segment, 0, bit, width) shouldBe field.toLong()
            }
        }

        test("should refuse to read behind the memory's end") {
            for (width in listOf(3, 8, 16, 32, 64)) {
                withClue("$width bits") {
                    shouldThrow<IndexOutOfBoundsException> {
                        Bits.read(
                            MemorySegment.ofArray(ByteArray(4)),
                            0,
                            32,
                            width,
                        )
                    }
                }
            }
        }

        test("should read native memory at any address") {
            Arena.ofConfined().use { arena ->
                val memory = arena.allocate(64).asSlice(1)
                Bits.write(memory, 3, 5, 41, 0x1234567890)
                Bits.read(memory, 3, 5, 41) shouldBe 0x1234567890
            }
        }

        test("should allocate nothing for a number") {
            val threads = ManagementFactory.getThreadMXBean() as com.sun.management.ThreadMXBean
            val memory = MemorySegment.ofArray(ByteArray(64) { it.toByte() })

            fun sum(): Long {
                var sum = 0L
                for (i in 0 until 20_000) {
                    sum +=
                        Bits.read(memory, 8, i and 63, 1 + (i and 31)) + Bits.read(memory, 0, 64, 64)
                }
                return sum
            }
            repeat(20) { sum() }
            val id = Thread.currentThread().threadId()
            val before = threads.getThreadAllocatedBytes(id)
            sum()
            // 40,000 reads; what the measuring allocates itself is less than a byte for each.
            threads.getThreadAllocatedBytes(id) - before shouldBeLessThan 20_000
        }
    })
