package org.kverbs.ibtool.ports

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.kverbs.ibtool.Changed
import org.kverbs.ibtool.Outcome
import org.kverbs.management.structures.GUIDInfo

/** `set_port_state`, `set_guid` and `set_nodedesc` on simulated fabrics. */
class SetCommandsSpec :
    FunSpec({
        fun run(vararg words: String) = Outcome(*words, "--fabric", "hosts:6")

        test("should bring a port into a state, and say in which it was") {
            val outcome = run("set_port_state", "2", "3", "disabled")
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.out}" shouldBe "Lid 2 port 3: ACTIVE(4), LINK_UP(5) before, DOWN(1), DISABLED(3) now\n"
            "${outcome.err}" shouldContain "set_port_state: sets Lid 2 port 3: disable"
            val json = Json.parseToJsonElement("${run("set_port_state", "2", "3", "down", "--json").out}").jsonObject
            json.getValue("after").jsonPrimitive.content shouldBe "INIT(2), LINK_UP(5)"
        }

        test("should not cut its own way, unless it is forced") {
            val refused = run("set_port_state", "-D", "0,1", "1", "disabled")
            refused.status shouldBe 255
            "${refused.err}" shouldContain "would cut the way from here"
            run("set_port_state", "2", "1", "down").status shouldBe 255
            run("set_port_state", "2", "1", "down", "--force").status shouldBe 0
        }

        test("should say what it would set with --dry-run, and set nothing") {
            val dry = run("set_port_state", "2", "3", "disabled", "--dry-run")
            "${dry.out}" shouldBe "would set Lid 2 port 3: disable\n"
            "${dry.err}".shouldBeEmpty()
            "${run("set_port_state", "2", "3", "disabled", "--dry-run", "--json").out}" shouldContain "\"would\""
            "${run("init_all_ports", "--dry-run").out}" shouldBe "would make 0 ports of 0 links active\n"
            "${run("set_guid", "1", "3", "0x5", "--dry-run").out}" shouldContain "would set GUID 3 of Lid 1"
            "${run("set_nodedesc", "x", "-D", "0,1", "--dry-run").out}" shouldContain "which is 'S-1', to 'x'"
        }

        test("should give a port a further GUID, but not another first one") {
            val outcome = run("set_guid", "1", "9", "0x0002c90300001234")
            "${outcome.out}" shouldContain "[9] 0002:c903:0000:1234\n"
            "${outcome.out}" shouldNotContain "[0]"
            val json =
                Json
                    .parseToJsonElement(
                        "${run("set_guid", "1", "1", "0002:c903:0000:1234", "--json").out}",
                    ).jsonArray
            json[1].jsonPrimitive.content shouldBe "0002:c903:0000:1234"
            "${run("set_guid", "1", "0", "0x5").err}" shouldContain "give 1 to 31"
            "${run("set_guid", "2", "1", "0x5").err}" shouldContain "takes none beside its own"
            run("set_guid", "1", "1", "five").status shouldBe 2
        }

        test("should say that a node has not taken a GUID, with JSON too") {
            for (json in listOf(emptyArray(), arrayOf("--json"))) {
                val words = arrayOf("set_guid", "1", "1", "0x0002c90300001234", *json, "--fabric", "hosts:6")
                val outcome =
                    Outcome(*words, between = { inner ->
                        Changed(inner, GUIDInfo.attributeId) { it.fill(0, Changed.DATA, it.size) }
                    })
                withClue("$outcome") { outcome.status shouldBe 255 }
                "${outcome.err}" shouldContain "Lid 1 has not taken the GUID"
                "${outcome.out}" shouldContain "0000:0000:0000:0000"
            }
        }

        test("should write the description of a node") {
            val outcome = run("set_nodedesc", "rack 3", "-D", "0,1")
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.err}" shouldContain "which is 'S-1', to 'rack 3'"
            run("set_nodedesc", "rack 3").status shouldBe 0
        }

        test("should want a fabric for init_all_ports, and no saved topology") {
            val outcome = Outcome("init_all_ports", "--load-cache", "nothing", "--fabric", "hosts:6")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "leave out --load-cache"
        }
    })
