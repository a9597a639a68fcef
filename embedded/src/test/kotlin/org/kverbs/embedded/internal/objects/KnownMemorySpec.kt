package org.kverbs.embedded.internal.objects

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.nio.ByteBuffer
import kotlin.random.Random

private const val SPACE = 64L

private fun segment(
    arena: Arena,
    start: Long,
    end: Long,
) = MemorySegment.ofAddress(start).reinterpret(end - start, arena, null)

/** Names memory and keeps no reference to it. Its frame is gone when it returns, as that of a test is not. */
private fun nameAndForget(known: KnownMemory): Long {
    val memory = Arena.ofAuto().allocate(4096)
    known.add(memory)
    known.covers(memory.address(), 4096) shouldBe true
    return memory.address()
}

/** Names a buffer by a segment that nothing refers to afterwards. */
private fun nameAndForget(
    known: KnownMemory,
    buffer: ByteBuffer,
) = known.add(MemorySegment.ofBuffer(buffer))

private fun known() = KnownMemory({ _, _ -> }, {})

/** Compares the ranges of an implicit region with a table that has the owner of each byte. */
class KnownMemorySpec :
    FunSpec({
        test("should know each byte by the segment that named it last, until its arena is closed") {
            repeat(300) { seed ->
                val random = Random(seed)
                val arenas = MutableList(3) { Arena.ofShared() }
                val owners = arrayOfNulls<Arena>(SPACE.toInt())
                val known = known()
                repeat(60) { step ->
                    val start = random.nextLong(SPACE)
                    val end = random.nextLong(start, SPACE) + 1
                    if (random.nextInt(12) == 0) {
                        val at = random.nextInt(arenas.size)
                        arenas[at].close()
                        arenas[at] = Arena.ofShared()
                    } else if (random.nextBoolean()) {
                        val arena = arenas.random(random)
                        known.add(segment(arena, start, end))
                        owners.fill(arena, start.toInt(), end.toInt())
                    }
                    withClue("seed $seed, step $step, $start to $end") {
                        known.covers(start, end - start) shouldBe
                            (start..<end).all { owners[it.toInt()]?.scope()?.isAlive == true }
                    }
                }
                arenas.forEach(Arena::close)
            }
        }

        test("should join ranges of the same memory, and drop those that are freed") {
            val known = known()
            Arena.ofShared().use { arena ->
                for (i in 0L..<1000L) known.add(segment(arena, i * 10, i * 10 + 10))
                known.count() shouldBe 1
            }
            repeat(1000) { i ->
                Arena.ofShared().use { known.add(segment(it, 20_000 + i * 10L, 20_000 + i * 10L + 5)) }
            }
            known.count() shouldBeLessThan 100
        }

        test("should tell which bytes are not those that were named before") {
            val told = mutableListOf<LongRange>()
            val known = KnownMemory({ start, end -> told += start..<end }, {})
            val (one, other) = List(2) { Arena.ofShared() }
            known.add(segment(one, 10, 20))
            known.add(segment(one, 15, 30))
            known.add(segment(one, 12, 14))
            told shouldBe emptyList()
            known.add(segment(other, 25, 40))
            told shouldBe listOf(25L..<30L)
            one.close()
            known.add(segment(other, 5, 12))
            told shouldBe listOf(25L..<30L, 10L..<12L)
            other.close()
        }

        test("should not keep memory that the program has no reference to") {
            val known = known()
            val address = nameAndForget(known)
            var tries = 0
            while (known.covers(address, 1) && tries++ < 100) {
                System.gc()
                Thread.sleep(20)
            }
            known.covers(address, 1) shouldBe false
        }

        test("should know a direct buffer by whichever of its segments the program has") {
            val known = known()
            val buffer = ByteBuffer.allocateDirect(4096)
            nameAndForget(known, buffer)
            val held = MemorySegment.ofBuffer(buffer)
            known.add(held)
            repeat(10) {
                System.gc()
                Thread.sleep(20)
            }
            known.covers(held.address(), held.byteSize()) shouldBe true
            buffer.capacity() shouldBe 4096
        }

        test("should let its user keep the scopes of memory that it covers") {
            val kept = mutableListOf<Any>()
            val known = KnownMemory({ _, _ -> }, { kept += it })
            Arena.ofShared().use { one ->
                Arena.ofShared().use { other ->
                    known.add(segment(one, 10, 20))
                    known.add(segment(other, 20, 30))
                    known.covers(15, 10) shouldBe true
                    kept shouldBe listOf(one.scope(), other.scope())
                }
            }
        }
    })
