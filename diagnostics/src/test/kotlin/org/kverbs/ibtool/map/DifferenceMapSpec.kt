package org.kverbs.ibtool.map

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Outcome
import java.io.StringReader
import javax.xml.parsers.DocumentBuilderFactory
import kotlin.io.path.exists
import kotlin.io.path.readText
import kotlin.io.path.writeText

private const val PLAN =
    "Switch 4 \"S-1\"\n[1] \"H-1\"[1]\n[2] \"H-2\"[1]\n[3] \"H-<3>\"[1]\n\n" +
        "Ca 1 \"H-1\"\n[1] \"S-1\"[1]\n\nCa 1 \"H-2\"\n[1] \"S-1\"[2]\n\nCa 1 \"H-<3>\"\n[1] \"S-1\"[3]\n"

/** The picture of `check --expect`. */
class DifferenceMapSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val plan = folder.resolve("plan").also { it.writeText(PLAN) }
        val picture = folder.resolve("picture.svg")

        fun check(net: String): String {
            val fabric = folder.resolve("fabric").also { it.writeText(net) }
            val words = listOf("check", "--expect", "$plan", "--picture", "$picture", "--skip", "routes,partitions")
            val outcome = Outcome(*words.toTypedArray(), "--fabric", "$fabric")
            withClue("$outcome") { picture.exists() shouldBe true }
            val svg = picture.readText()
            DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(org.xml.sax.InputSource(StringReader(svg)))
            return svg
        }

        fun titles(
            svg: String,
            what: String,
        ) = Regex("<title>([^<]*): $what</title>").findAll(svg).map { it.groupValues[1] }.toList()

        test("should draw all as planned where nothing is different") {
            val svg = check(PLAN)
            titles(svg, "as planned").size shouldBe 4 + 3
            svg shouldNotContain ": missing"
            svg shouldContain "H-&lt;3&gt;"
        }

        test("should draw what is missing, what is not planned, and other rates") {
            val net =
                PLAN
                    .replace("H-2", "H-9")
                    .replace("[1] \"S-1\"[1]\n", "[1] \"S-1\"[1] w=1\n")
                    .replace("[1] \"H-1\"[1]\n", "[1] \"H-1\"[1] w=1\n")
            val svg = check(net)
            titles(svg, "missing").map { it.substringBefore('\n') } shouldBe
                listOf(titles(svg, "missing").first(), "H-2")
            titles(svg, "missing").first() shouldContain "H-2 port 1"
            titles(svg, "not planned").size shouldBe 2
            titles(svg, "at another rate").single() shouldContain "H-1 port 1"
        }

        test("should need a plan, and not write over it") {
            Outcome("check", "--picture", "$picture", "--fabric", "hosts:2").status shouldBe 2
            val twice = Outcome("check", "--expect", "$plan", "--picture", "$plan", "--fabric", "hosts:2")
            twice.status shouldBe 2
            plan.readText() shouldBe PLAN
        }
    })
