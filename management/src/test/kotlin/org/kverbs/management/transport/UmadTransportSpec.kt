package org.kverbs.management.transport

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldMatch
import io.kotest.matchers.string.shouldStartWith
import java.nio.file.Path

class UmadTransportSpec :
    FunSpec({
        test("should ask a fabric through libibumad, with thousands of requests at once")
            .config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
                val net = checkNotNull(UmadTransportSpec::class.java.getResource("/small.net")).readText()
                val java = Path.of(System.getProperty("java.home"), "bin", "java")
                val output =
                    Ibsim(net).use {
                        it.tool(
                            "H-0002c90200000030",
                            "$java",
                            "--enable-native-access=ALL-UNNAMED",
                            "-cp",
                            System.getProperty("java.class.path"),
                            UmadProgram::class.java.name,
                        )
                    }
                val (refusal, ports, port, here, switch, many, timeout, time) = output.lines()
                refusal shouldStartWith "umad_open_port(none/1) failed: "
                ports shouldBe "[ibsim0/1] ibsim0/1 0002:c902:0000:0031 INIT(2)"
                port shouldBe "ibsim0 0002:c902:0000:0031 LID 0 INIT(2)"
                here shouldBe "0002:c902:0000:0030"
                switch shouldBe "SWITCH(2) 0002:c902:0000:0010"
                many shouldBe "2000 [0002:c902:0000:0010]"
                timeout shouldStartWith "no answer from DR Path (0, 1, 3) to "
                time shouldBe "at once"
            }

        test("should ask opensm, whose answers are shorter than a datagram, through libibumad")
            .config(enabledOrReasonIf = { opensm.presentOrSkipped }) {
                val net = checkNotNull(UmadTransportSpec::class.java.getResource("/small.net")).readText()
                val java = Path.of(System.getProperty("java.home"), "bin", "java")
                val output =
                    Ibsim(net).use {
                        it.sweep("H-0002c90200000020")
                        val manager = it.opensm("H-0002c90200000020")
                        try {
                            check(manager.inputReader().lineSequence().any { "MASTER" in it }) { "opensm ended" }
                            it.tool(
                                "H-0002c90200000030",
                                "$java",
                                "--enable-native-access=ALL-UNNAMED",
                                "-cp",
                                System.getProperty("java.class.path"),
                                UmadProgram::class.java.name,
                                "administrator",
                            )
                        } finally {
                            manager.destroy()
                            manager.waitFor()
                        }
                    }
                val (_, path, managers) = output.lines()
                path shouldMatch "Path \\d+ -> 1 SL=0 PKey=0xffff DQPN=1"
                managers shouldBe "1"
            }
    })

private operator fun <T> List<T>.component6(): T = this[5]

private operator fun <T> List<T>.component7(): T = this[6]

private operator fun <T> List<T>.component8(): T = this[7]
