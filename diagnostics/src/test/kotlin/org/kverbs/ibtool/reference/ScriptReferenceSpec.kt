package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import java.nio.file.Path
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** ibtool beside infiniband-diags' scripts in Perl, on fabrics of chance that ibsim simulates. */
class ScriptReferenceSpec :
    FunSpec({
        val folder = tempdir().toPath()

        for (seed in 11..13) {
            val fabric = Chance(seed)
            val simulator = lazy { fabric.simulator() }
            afterSpec { if (simulator.isInitialized()) simulator.value.close() }

            for ((state, before) in listOf<Pair<String, Ibsim.() -> Unit>>(
                "whole" to {},
                "with links that are away" to { console(fabric.faults()) },
            )) {
                test("should print what check_lft_balance prints of a fabric of chance, $state (seed $seed)")
                    .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                        val programs = simulator.value.apply(before)
                        val tables =
                            folder
                                .resolve(
                                    "tables",
                                ).also { it.writeText(programs.reference("dump_lfts").text) }
                        val (theirs, ours) = listOf("theirs", "ours").map { "${folder.resolve(it)}" }
                        programs.reference("ibnetdiscover", "--cache", theirs).status shouldBe 0
                        programs.ibtool("ibnetdiscover", "--cache", ours).status shouldBe 0
                        for (options in listOf("", "-v", "-e", "-e -v")) {
                            val words = listOf("check_lft_balance", "-l", "$tables") + options.split(' ') - ""
                            val expected = programs.reference(*words.toTypedArray(), "-i", theirs)
                            withClue("$words: ${programs.errors().lines().takeLast(5)}") {
                                programs.ibtool(*words.toTypedArray(), "-i", ours) shouldBe expected
                            }
                        }
                    }
            }

            test("should print what ibfindnodesusing and ibidsverify print of a fabric of chance (seed $seed)")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    // Their module keeps what it found in a folder of the machine.
                    val module = Path.of("/usr/share/perl5/IBswcountlimits.pm").readText()
                    folder
                        .resolve(
                            "IBswcountlimits.pm",
                        ).writeText(module.replace("/var/cache/infiniband-diags", "$folder"))
                    val switches =
                        simulator.value
                            .reference("ibswitches")
                            .text
                            .lines()
                            .mapNotNull { Regex("0x\\w+").find(it)?.value }
                    val lines = switches.flatMap { switch -> (1..4).map { listOf("ibfindnodesusing", switch, "$it") } }
                    for (words in lines + listOf(listOf("ibidsverify"))) {
                        val script = listOf("perl", "-I", "$folder", "/usr/sbin/${words.first()}", "-R") + words.drop(1)
                        val expected = simulator.value.reference(*script.toTypedArray())
                        withClue("$words: ${simulator.value.errors().lines().takeLast(5)}") {
                            simulator.value.ibtool(*words.toTypedArray()) shouldBe expected
                        }
                    }
                }
        }
    })
