package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import kotlin.io.path.writeText

/** Two hosts and a switch with the same name, and one whose name looks like a GID at first. */
private val net =
    """
    switchguid=0x100
    Switch	4 "S-0000000000000100"		# "twin"
    [1]	"H-0000000000000200"[1]
    [2]	"H-0000000000000300"[1]
    [3]	"H-0000000000000400"[1]

    caguid=0x200
    Ca	1 "H-0000000000000200"		# "twin"
    [1]	"S-0000000000000100"[1]

    caguid=0x300
    Ca	1 "H-0000000000000300"		# "MF0;rack:QM8700/U1"
    [1]	"S-0000000000000100"[2]

    caguid=0x400
    Ca	1 "H-0000000000000400"		# "lone"
    [1]	"S-0000000000000100"[3]

    """.trimIndent()

class TargetsSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val file = folder.resolve("net").also { it.writeText(net) }

        fun ask(
            address: String,
            vararg options: String,
        ) = Outcome("smpquery", "ND", address, *options, "--fabric", "$file")

        fun name(
            address: String,
            vararg options: String,
        ): String {
            val outcome = ask(address, *options)
            withClue("$outcome") { outcome.status shouldBe 0 }
            return "${outcome.out}".substringAfterLast("..").trim('.', '\n')
        }

        val lid by lazy {
            Regex("Lid (\\d+)").find(Outcome("smpquery", "NI", "lone", "--fabric", "$file").out)!!.groupValues[1]
        }
        val guid by lazy {
            Regex(
                "PortGuid:\\.+0x(\\p{XDigit}+)",
            ).find(Outcome("smpquery", "NI", "lone", "--fabric", "$file").out)!!.groupValues[1]
        }

        test(
            "should find a port by its LID, in each form of its GUID, by its GID, by fields of a path, and by a directed path",
        ) {
            val groups = guid.chunked(4).joinToString(":")
            val all =
                listOf(lid, "0x${lid.toInt().toString(16)}", "0x$guid", groups, "fe80::$groups", "dlid=$lid", "0,1,3")
            for (address in all) withClue(address) { name(address) shouldBe "lone" }
        }

        test("should find a node by its name, colons in it or not") {
            name("lone") shouldBe "lone"
            name("MF0;rack:QM8700/U1") shouldBe "MF0;rack:QM8700/U1"
        }

        test("should refuse a name that several nodes have, and show them") {
            val outcome = ask("twin")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "smpquery: 2 nodes have the name twin: give one of LID "
            Regex("port GUID 0x\\p{XDigit}{16}").findAll("${outcome.err}").count() shouldBe 2
        }

        test("should take a name of the map before descriptions, and both where they are the same") {
            val map = folder.resolve("map")
            map.writeText("0x200 \"first twin\"\n0x400 \"loner\"\n")
            val options = arrayOf("--node-name-map", "$map")
            name("first twin", *options) shouldBe "first twin"
            name("loner", *options) shouldBe "loner"
            // The description of a node that the map names is not its name any more, so one node is left.
            name("twin", *options) shouldBe "twin"
            ask("lone", *options).status shouldBe 255
            map.writeText("0x200 \"pair\"\n0x300 \"pair\"\n")
            "${ask("pair", *options).err}" shouldContain "2 nodes have the name pair"
        }

        test("should say that there is nothing of a name or form") {
            for (address in listOf("nobody", "fe80::zz", "0:0:0", "x".repeat(5000))) {
                val outcome = ask(address)
                outcome.status shouldBe 255
                "${outcome.err}" shouldContain "can't resolve destination port ${address.take(20)}"
            }
        }
    })
