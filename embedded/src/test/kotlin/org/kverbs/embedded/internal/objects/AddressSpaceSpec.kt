package org.kverbs.embedded.internal.objects

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.lang.foreign.Arena
import java.nio.file.Path

private const val BYTES = 64L

/** Checks what counts as mapped where the list of mappings is there, is missing, or cannot be read. */
class AddressSpaceSpec :
    FunSpec({
        fun isMapped(list: String) =
            Arena.ofConfined().use { arena ->
                AddressSpace(Path.of(list)).isMapped(arena.allocate(BYTES).address(), BYTES, false)
            }

        test("should find memory in the list of the system") { isMapped("/proc/self/maps") shouldBe true }

        test("should count all memory as mapped where the system has no list") {
            isMapped("/proc/self/no-such-list") shouldBe true
        }

        test("should count no memory as mapped while the list cannot be read") { isMapped("/proc/self") shouldBe false }
    })
