package org.kverbs.ibtool.fabric

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.ibtool.Outcome

private const val HOST = "0x200000010000010"

/** Commands on saved topologies: `ibdiscover`, `subnet_diff`, `ibcacheedit`, and `ibprintca`, which loads one. */
class SavedSubnetSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val saved = "$folder/saved"

        beforeSpec {
            Outcome("ibdiscover", saved, "--fabric", "fat-tree:2").status shouldBe 0
        }

        test("should find nothing different between a fabric and itself") {
            val outcome = Outcome("subnet_diff", saved, "--fabric", "fat-tree:2")
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.out}" shouldBe ""
        }

        test("should give a host another GUID, and show it as the difference") {
            val edit = Outcome("ibcacheedit", "--caguid", "$HOST:0xf00000000000001", saved, "$folder/edited")
            withClue("$edit") { edit.status shouldBe 0 }
            val diff = Outcome("subnet_diff", saved, "$folder/edited")
            diff.status shouldBe 1
            "${diff.out}" shouldStartWith "- node "
            "${diff.out}" shouldContain "\n+ node "
            val print = Outcome("ibprintca", "0xf00000000000001", "--load-cache", "$folder/edited")
            withClue("$print") { print.status shouldBe 0 }
            "${print.out}" shouldContain "caguid=0xf00000000000001\nCa\t1 \"H-0f00000000000001\"\t\t# \"H-1\"\n[1]("
            val back = Outcome("ibcacheedit", "--caguid", "0xf00000000000001:$HOST", "$folder/edited", "$folder/back")
            back.status shouldBe 0
            Outcome("subnet_diff", saved, "$folder/back").status shouldBe 0
        }

        test("should refuse to change what is not there, and to make two nodes with one GUID") {
            val absent = Outcome("ibcacheedit", "--switchguid", "0x1:0x2", saved, "$folder/none")
            absent.status shouldBe 255
            "${absent.err}" shouldContain "ibcacheedit: the subnet has no switch with GUID "
            val twice = Outcome("ibcacheedit", "--caguid", "$HOST:0x200000010000020", saved, "$folder/none")
            twice.status shouldBe 255
            "${twice.err}" shouldContain "two nodes would have the GUID "
        }
    })
