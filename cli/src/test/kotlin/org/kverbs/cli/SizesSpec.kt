package org.kverbs.cli

import io.kotest.core.spec.style.FunSpec
import io.kotest.datatest.withData
import io.kotest.matchers.shouldBe

class SizesSpec :
    FunSpec({
        context("should read a number of bytes, with the units of dd(1), in either case") {
            withData(
                nameFn = { (text, bytes) -> "$text is $bytes" },
                "0" to 0L,
                "4096" to 4096L,
                "7B" to 7L,
                "64K" to 65_536L,
                "64k" to 65_536L,
                "64KiB" to 65_536L,
                "64kB" to 64_000L,
                "1MiB" to 1_048_576L,
                "10GB" to 10_000_000_000L,
                "2T" to 2_199_023_255_552L,
                "999999999999999999T" to null,
                "" to null,
                "K" to null,
                "-1" to null,
                "1.5K" to null,
                "1iB" to null,
                "1X" to null,
                "1 K" to null,
                "99999999999999999999" to null,
            ) { (text, bytes) -> bytesOf(text) shouldBe bytes }
        }
    })
