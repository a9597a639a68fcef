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
import io.kotest.property.arbitrary.long
import io.kotest.property.arbitrary.map
import io.kotest.property.arbitrary.next
import io.kotest.property.arbitrary.orNull
import io.kotest.property.arbitrary.string
import io.kotest.property.checkAll
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
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
private val routed =
    arbitrary {
        val route =
            GlobalRoute(
                Gid(Arb.long().bind(), Arb.long().bind()),
                Arb.int(0..0xfffff).bind(),
                Arb.int(0..255).bind(),
                Arb.int(0..255).bind(),
                Arb.int(0..255).bind(),
            )
        byLid.bind().copy(globalRoute = route)
    }
private val parts =
    listOf(
        "dlid=",
        "slid=",
        "dgid=",
        "hop_limit=",
        "fe80::1",
        "=",
        "0",
        ",",
        "12",
        "0x",
        "f",
        " ",
        "DR Path (",
        ")",
        "Path ",
        " -> ",
        "SL=",
        "PKey=",
        "DQPN=",
        "99999999",
        "\n",
    )

/** `management/fuzz` makes 50 times as many. */
private val texts = Integer.getInteger("fuzz.count", 200_000) / 40

class MadPathSpec :
    FunSpec({
        test("should read what a path prints") {
            checkAll(1000, Arb.choice(directed, byLid)) { path -> MadPath.parse("$path") shouldBe path }
        }

        test("should read all fields of a path from its text, in any order") {
            checkAll(1000, Arb.choice(byLid, routed)) { path ->
                MadPath.parse(path.toText()) shouldBe path
                MadPath.parse(path.toText().split(' ').reversed().joinToString(",")) shouldBe path
            }
            MadPath.parse("dlid=0x9") shouldBe lid(9)
        }

        test("should print a path in the forms of the documentation") {
            "${directed(0, 1)}" shouldBe "DR Path (0, 1)"
            "${LidPath(Lid(9), source = Lid(8))}" shouldBe "Path 8 -> 9 SL=0 PKey=0xffff DQPN=1"
            "${lid(9)}" shouldBe "Path 9 SL=0 PKey=0xffff DQPN=1"
        }

        test("should take the LID of a record or a port as it is") {
            lid(Lid(12)) shouldBe lid(12)
            shouldThrow<IllegalArgumentException> { lid(Lid(0)) }.message shouldContain "addresses no port"
        }

        test("should read ports and LIDs as people type them") {
            MadPath.parse("0") shouldBe directed(0)
            MadPath.parse("0,1,2") shouldBe directed(0, 1, 2)
            MadPath.parse("12") shouldBe lid(12)
            MadPath.parse("0xc") shouldBe lid(12)
        }

        val refused =
            listOf(
                "",
                "xx",
                "0:0:0",
                "fe80::/",
                "fe80::1x",
                "Moo()",
                "IBPath()",
                "1,2",
                "0,255",
                "0,",
                "٣",
                "dlid=",
                "sl=3",
                "moo=1 dlid=9",
            )
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
                    "dlid=9 moo=1" to "\"moo=1\" is not a field of a path",
                    "dlid=9 dlid=8" to "dlid twice",
                    "slid=9" to "no dlid",
                    "dlid=9 hop_limit=3" to "no dgid",
                    "dlid=9 sl=x" to "\"x\" is not a number",
                    "dlid=9 dgid=fe80::1 hop_limit=256" to "hop limit",
                    "dlid=9 dgid=fe80" to "fe80",
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

        test("should lead a reversed path to general services") {
            LidPath(Lid(9), source = Lid(8), destinationQueuePair = 77).reverse().destinationQueuePair shouldBe 1
        }

        test("should refuse to reverse a global route, whose way back is to another GID") {
            val path = routed.next().copy(source = Lid(8))
            shouldThrow<IllegalStateException> { path.reverse() }.message shouldContain "needs the GID of its source"
        }

        test("should lengthen a directed path") { directed(0, 1) + 4 shouldBe directed(0, 1, 4) }
    })
