package org.kverbs.embedded.internal.objects

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.lang.foreign.Arena
import kotlin.random.Random

private const val PAGE = 4096L
private const val PAGES = 300

/** Compares the table of present pages with two sets of page numbers, and the system's list of mappings with itself. */
class PageTableSpec :
    FunSpec({
        test("should count each page once for reading and once for writing") {
            Arena.ofConfined().use { arena ->
                val base = arena.allocate(PAGES * PAGE, PAGE).address()
                repeat(20) { seed ->
                    val random = Random(seed)
                    val table = PageTable(AddressSpace())
                    val readable = mutableSetOf<Long>()
                    val writable = mutableSetOf<Long>()
                    repeat(100) {
                        val offset = random.nextLong(PAGES * PAGE)
                        val bytes = random.nextLong(1, minOf(PAGES * PAGE - offset, 90 * PAGE) + 1)
                        val writes = random.nextBoolean()
                        val touched = (offset / PAGE..(offset + bytes - 1) / PAGE).toSet()
                        val missing = touched - if (writes) writable else readable
                        withClue("seed $seed, $offset and $bytes bytes, writes $writes") {
                            table.fetch(base + offset, bytes, writes) shouldBe missing.size
                        }
                        readable += touched
                        if (writes) writable += touched
                    }
                    table.fetch(base, 0, true) shouldBe 0
                    table.fetch(base or (1L shl 50), 1, false) shouldBe -1
                    table.isMapped(base or (1L shl 50), 1, false) shouldBe false
                }
            }
        }

        test("should find what is mapped, up to the last byte, and what is not") {
            val space = AddressSpace()
            Arena.ofConfined().use { arena ->
                val memory = arena.allocate(16 * PAGE, PAGE)
                space.isMapped(memory.address(), memory.byteSize(), true) shouldBe true
                space.isMapped(memory.address() + 5, 1, false) shouldBe true
            }
            space.isMapped(0x2_0000, 1, false) shouldBe false
            space.isMapped(0, 1, false) shouldBe false
            space.isMapped(Long.MAX_VALUE - 10, 5, false) shouldBe false
        }
    })
