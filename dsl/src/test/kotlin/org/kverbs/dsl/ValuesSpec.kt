package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

internal class ValuesSpec :
    FunSpec({
        test("should print numbers and keys in hexadecimal, all digits") {
            listOf(Qpn(0x1234), Psn(0xffffff), Lid(0xab), Lkey(1), Rkey(-1)).map { it.toString() } shouldBe
                listOf("0x001234", "0xffffff", "0x00ab", "0x00000001", "0xffffffff")
        }

        test("should refuse a number of more bits than it has, and name it") {
            shouldThrow<IllegalArgumentException> { Qpn(0x1000000) }.message shouldBe "qpn 16777216 doesn't fit into 24 bits"
            shouldThrow<IllegalArgumentException> { Psn(-1) }.message shouldBe "psn -1 doesn't fit into 24 bits"
            shouldThrow<IllegalArgumentException> { Lid(0x10000) }.message shouldBe "lid 65536 doesn't fit into 16 bits"
            Lid(0xffff).value shouldBe 0xffff
        }

        test("should count sizes in bytes, beyond 2 GiB too") {
            listOf(64.KiB, 3.MiB, 5.GiB) shouldBe listOf(65_536L, 3_145_728L, 5_368_709_120L)
        }

        test("should refuse a completion queue of no entries and a vector below zero") {
            shouldThrow<IllegalArgumentException> { CompletionQueueBuilder().entries(0) }.message shouldBe
                "entries(0): a completion queue needs room for one completion at least"
            shouldThrow<IllegalArgumentException> { CompletionQueueBuilder().vector(-1) }.message shouldBe "vector(-1) is below zero"
            CompletionQueueBuilder().build().entries() shouldBe 256
        }

        test("should refuse a limit above a shared queue's size, and name both") {
            shouldThrow<IllegalArgumentException> { SharedReceiveQueueBuilder().apply { limit(129) }.build() }.message shouldBe
                "limit(129) is above maxWr(128), so it would always be reached"
            SharedReceiveQueueBuilder().apply { limit(128) }.build().limit() shouldBe 128
        }

        test("should refuse a queue pair without a type, or without completion queues, and say which is missing") {
            shouldThrow<IllegalArgumentException> { QueuePairBuilder().build() }.message shouldBe
                "type is missing: say type(RC), type(UC) or type(UD)"
            shouldThrow<IllegalArgumentException> { QueuePairBuilder().apply { type(RC) }.build() }.message shouldBe
                "sendCq is missing: say sendCq(cq), or cq(cq) for both directions"
        }
    })
