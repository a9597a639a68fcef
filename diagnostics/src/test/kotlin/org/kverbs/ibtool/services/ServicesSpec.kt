package org.kverbs.ibtool.services

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.MlxGeneralInfoExtended
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.seconds

class ServicesSpec :
    FunSpec({
        test("should read the processors of the kernel's list") {
            val list =
                "processor\t: 0\nvendor_id\t: X\nmodel name\t: Fast one\ncpu MHz\t\t: 2000.000\n\n" +
                    "processor\t: 1\nmodel name\t: Slow one\n\n"
            LocalHost.processors(list) shouldBe
                "cpu 0: model  Fast one MHZ  2000.000\ncpu 1: model  Slow one MHZ unknown\n"
            LocalHost.processors("") shouldBe ""
        }

        test("should count the pings that are lost, and the times of the others") {
            val statistics = PingStatistics("Lid 4")
            repeat(3) { statistics.sent() }
            statistics.received("there", 1500)
            statistics.received("there", 2500)
            statistics.text(7_000) shouldBe
                "\n--- there (Lid 4) ibping statistics ---\n" +
                "3 packets transmitted, 2 received, 33% packet loss, time 7 ms\n" +
                "rtt min/avg/max = 1.500/2.000/2.500 ms"
        }

        test("should answer ibping and ibsysstat with -S, until it is interrupted") {
            simulatedFabric {
                fatTree(2)
                subnetManager()
            }.use { simulation ->
                val lid =
                    simulation
                        .fabric("H-1")
                        .use { it.port().info.lid }
                        .toString()

                fun run(
                    node: String,
                    vararg words: String,
                ) = Outcome(*words, "--fabric", "hosts:2", between = { it.close().let { simulation.port(node) } })

                val name = LocalHost.name()
                for ((command, client, text) in listOf(
                    Triple("ibping", listOf("ibping", "-c", "1", lid), "Pong from $name (Lid $lid): time "),
                    Triple("ibsysstat", listOf("ibsysstat", lid, "host"), "$name\n"),
                )) {
                    var ended: Outcome? = null
                    val server = thread { ended = run("H-1", command, "-S") }
                    eventually(20.seconds) {
                        "${run("H-2", *client.toTypedArray()).out}" shouldContain text
                    }
                    server.interrupt()
                    server.join()
                    withClue("$ended") { ended?.status shouldBe 130 }
                }
            }
        }

        test("should end with a summary where nobody answers pings") {
            val outcome = Outcome("ibping", "-f", "-c", "2", "-t", "20", "--retries", "0", "99", "--fabric", "hosts:6")
            outcome.status shouldBe 0
            "${outcome.out}" shouldContain "2 packets transmitted, 0 received, 100% packet loss"
        }

        test("should end with 255 where nobody answers ibsysstat") {
            val outcome = Outcome("ibsysstat", "-t", "20", "--retries", "0", "99", "cpu", "--fabric", "hosts:6")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "ibsysstat: ibsystat to Lid 99: "
        }

        test("should ask for an address or for -S") {
            for (command in listOf("ibping", "ibsysstat")) Outcome(command, "--fabric", "hosts:2").status shouldBe 2
            Outcome("ibsysstat", "2", "weather", "--fabric", "hosts:2").status shouldBe 2
            Outcome("ibping", "-o", "0x1000000", "2", "--fabric", "hosts:2").status shouldBe 2
        }

        test("should not let a device move the cursor of a terminal") {
            "${GeneralInfo(MlxGeneralInfoExtended { fwPSID = "\u001b[2J" })}" shouldContain "fw_psid:     '?[2J'\n"
        }

        test("should say what would be written to a device with --dry-run, and write nothing") {
            val write = Outcome("vendstat", "-W", "1000,ff", "2", "--dry-run", "--fabric", "hosts:6")
            "${write.out}" shouldBe "would write the configuration space of Lid 2 at 0x1000: 0xff mask 0xffffffff\n"
            val choose = Outcome("vendstat", "-c", "0,1", "2", "1", "--dry-run", "--fabric", "hosts:6")
            "${choose.out}" shouldBe "would set the counter groups of Lid 2 port 1: group0 0 group1 1\n"
        }
    })
