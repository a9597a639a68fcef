package org.kverbs.internal.ffm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment

/** Polls "queues" of two "drivers": functions of the C library that answer a number for their first argument. */
class NativeCompletionQueueOpsSpec :
    FunSpec({
        test("should poll the queues of two drivers each by its own function, whichever was there first") {
            val queues = listOf(queue("ffs"), queue("abs"), queue("ffs"), queue("abs"))
            repeat(20_000) {
                queues.map { it.poll(1, 0) } shouldBe listOf(4, 8, 4, 8)
            }
        }

        test("should poll by the same function after it was told of extended posts") {
            val queues = listOf(queue("ffs"), queue("abs"))
            queues.forEach { it.expectExtendedPosts() }
            queues.map { it.poll(1, 0) } shouldBe listOf(4, 8)
        }
    })

/** A queue at the address 8, whose lowest bit that is set is the fourth. */
private fun queue(function: String) =
    NativeCompletionQueueOps(
        8,
        Linker.nativeLinker().defaultLookup().findOrThrow(function),
        MemorySegment.NULL,
        true,
    )
