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
    })
