package org.kverbs.embedded.internal.transport

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

private const val ALL = 1 shl 24
private const val LONGEST = 1 shl 23

class PsnSpec :
    FunSpec({
        test("should count the PSNs of every message up to the longest, also across the wrap") {
            for (first in listOf(0, 5, LONGEST, ALL - 1)) {
                for (count in listOf(0, 1, 2, LONGEST - 1, LONGEST)) {
                    Psn.countTo(Psn.plus(first, count), first) shouldBe count
                }
            }
            Psn.count(1L shl 31, 256) shouldBe LONGEST
        }

        test("should tell before from after across the wrap") {
            Psn.distance(3, ALL - 2) shouldBe 5
            Psn.distance(ALL - 2, 3) shouldBe -5
        }
    })
