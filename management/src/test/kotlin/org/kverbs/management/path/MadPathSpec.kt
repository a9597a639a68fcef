package org.kverbs.management.path

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.Arb
import io.kotest.property.arbitrary.arbitrary
import io.kotest.property.arbitrary.choice
import io.kotest.property.arbitrary.element
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.list
import io.kotest.property.arbitrary.map
import io.kotest.property.arbitrary.orNull
import io.kotest.property.arbitrary.string
import io.kotest.property.checkAll
import org.kverbs.structures.Lid

private val lids = Arb.int(1..0xfffe).map(::Lid)
private val directed = Arb.list(Arb.int(0..254), 0..63).map { DirectedPath(listOf(0) + it) }
private val byLid =
    arbitrary {
        LidPath(
            lids.bind(),
            lids.orNull().bind(),
            Arb.int(0..15).bind(),
            Arb.int(0..0xffff).bind(),
            Arb.int(0..0xffffff).bind(),
        )
    }
private val parts =
    listOf("0", ",", "12", "0x", "f", " ", "DR Path (", ")", "Path ", " -> ", "SL=", "PKey=", "DQPN=", "99999999", "\n")

/** `-Dkverbs.fuzz=10000000` makes 50 times as many. */
private val texts = Integer.getInteger("kverbs.fuzz", 200_000) / 40

class MadPathSpec :
    FunSpec({
        test("should read what a path prints") {
            checkAll(1000, Arb.choice(directed, byLid)) { path -> MadPath.parse("$path") shouldBe path }
        }

        test("should print a path in the forms of the documentation") {
            "${directed(0, 1)}" shouldBe "DR Path (0, 1)"
            "${LidPath(Lid(9), source = Lid(8))}" shouldBe "Path 8 -> 9 SL=0 PKey=0xffff DQPN=1"
            "${lid(9)}" shouldBe "Path 9 SL=0 PKey=0xffff DQPN=1"
        }

        test("should read ports and LIDs as people type them") {
            MadPath.parse("0") shouldBe directed(0)
            MadPath.parse("0,1,2") shouldBe directed(0, 1, 2)
            MadPath.parse("12") shouldBe lid(12)
            MadPath.parse("0xc") shouldBe lid(12)
        }

        val refused = listOf("", "xx", "0:0:0", "fe80::/", "fe80::1x", "Moo()", "IBPath()", "1,2", "0,255", "0,", "٣")
        for (text in refused) {
            test("should refuse \"$text\"") { shouldThrow<IllegalArgumentException> { MadPath.parse(text) } }
        }

        test("should say what is wrong with a path") {
            val tooLong = List(65) { 0 }.joinToString(",")
            val wrong =
                mapOf(
                    "xx" to "is not a path: give ports such as 0,1,4",
                    "1,2" to "must begin with 0",
                    "0,255" to "255 is not a port",
                    "0xffff" to "LID 65535 addresses no port",
                    tooLong to "at most 63 hops, not 64",
                    "Path 9 SL=16 PKey=0xffff DQPN=1" to "service level 16",
                )
            for ((text, words) in wrong) {
                val error = shouldThrow<IllegalArgumentException> { MadPath.parse(text) }
                withClue(text) { error.message shouldContain words }
            }
        }

        test("should read any text as a path or refuse it with a short message") {
            val mixtures = Arb.list(Arb.element(parts), 0..30).map { it.joinToString("") }
            checkAll(texts, Arb.choice(Arb.string(0..60), mixtures, Arb.string(2000))) { text ->
                val refusal = runCatching { MadPath.parse(text) }.exceptionOrNull()
                if (refusal != null) {
                    (refusal is IllegalArgumentException) shouldBe true
                    refusal.message.orEmpty().length shouldBeLessThan 200
                }
            }
        }

        test("should reverse a path, and tell that one without a source cannot be") {
            LidPath(Lid(9), source = Lid(8)).reverse() shouldBe LidPath(Lid(8), source = Lid(9))
            shouldThrow<IllegalStateException> { lid(9).reverse() }.message shouldContain "has no source"
        }

        test("should lengthen a directed path") { directed(0, 1) + 4 shouldBe directed(0, 1, 4) }
    })
