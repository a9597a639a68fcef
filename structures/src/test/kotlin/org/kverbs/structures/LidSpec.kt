package org.kverbs.structures

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

class LidSpec :
    FunSpec({
        test("should have the range of LIDs in which the switches ignore the low bits") {
            Lid(12).range(0) shouldBe 12..12
            Lid(12).range(2) shouldBe 12..15
            Lid(15).range(3) shouldBe 8..15
            shouldThrow<IllegalArgumentException> { Lid(12).range(8) }
        }
    })
