package org.kverbs.management.fabric

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.dsl.openDevice
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.trace.captured
import org.kverbs.management.transaction.MadReplyException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transport.UdTransport
import org.kverbs.structures.Descriptions
import java.io.IOException
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

class UnfitMessagesSpec :
    FunSpec({
        test("should say that answers came which are none, in place of advice about links") {
            simulatedFabric {
                fatTree(4, hosts = 2)
                subnetManager()
                faults { truncated = 1.0 }
            }.use { simulation ->
                simulation.fabric("H-1") { timeout(50.milliseconds).also { retries(1) } }.use { fabric ->
                    val error = shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(lid(2)) }
                    error.strays shouldBe 2
                    checkNotNull(error.message) shouldContain "2 datagrams came that are no answer to it"
                }
            }
        }

        test("should refuse a request that does not fit into a datagram, with both sizes") {
            val huge =
                Descriptions
                    .parse(
                        "structure Huge 2048 of 0x0b version 1 {\n attribute 0x0030 methods Get\n @0 bytes:2048 x\n}",
                    ).type("Huge")
            simulatedFabric { fatTree(4, hosts = 2) }.use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val error =
                        shouldThrow<IllegalArgumentException> {
                            fabric.getDynamic(huge, lid(1)) { set("x", ByteArray(256) { 1 }) }
                        }
                    checkNotNull(error.message) shouldContain "Huge has 256 bytes"
                }
            }
        }

        test("should not cut an answer that is longer than its attribute, and name getLong") {
            openDevice("embedded0").use { near ->
                openDevice("embedded1").use { far ->
                    val there = UdTransport.open(far.protectionDomain())
                    fabric(there).use { server ->
                        server.serve(ManagementClass.SUBN_ADM) { it.answerLong(ByteArray(10_000)) }
                        val here = UdTransport.open(near.protectionDomain())
                        fabric(here).use { client ->
                            val path = here.pathTo(there.endpoint)
                            val error =
                                shouldThrow<MadReplyException> {
                                    client.get<ClassPortInfo>(path, mgmtClass = ManagementClass.SUBN_ADM)
                                }
                            checkNotNull(error.message) shouldContain
                                "10000 bytes, more than a ClassPortInfo: use getLong"
                        }
                    }
                }
            }
        }

        test("should close the transport of a fabric whose settings are refused") {
            simulatedFabric { fatTree(4, hosts = 2) }.use { simulation ->
                shouldThrow<IllegalArgumentException> { simulation.fabric("H-1") { retries(-1) } }
                simulation.attached.shouldBeEmpty()
                val folder = Files.createTempDirectory("captured")
                shouldThrow<IOException> { simulation.port("H-1").captured(folder.resolve("none/file")) }
                simulation.attached.shouldBeEmpty()
                shouldThrow<IllegalArgumentException> { MadTransactor(simulation.port("H-1"), maxOutstanding = 0) }
                simulation.attached.shouldBeEmpty()
                shouldThrow<IllegalArgumentException> { simulation.fabric("H-1") { timeout(Duration.INFINITE) } }
                Files.delete(folder)
            }
        }

        test("should show each event to a listener behind one that fails") {
            val before = Thread.getDefaultUncaughtExceptionHandler()
            Thread.setDefaultUncaughtExceptionHandler { _, _ -> }
            try {
                val seen = AtomicInteger()
                simulatedFabric { fatTree(4, hosts = 2) }.use { simulation ->
                    simulation
                        .fabric("H-1") {
                            listener { error("the first listener fails") }
                            listener { seen.incrementAndGet() }
                        }.use { it.get<NodeInfo>(directed(0)) }
                }
                seen.get() shouldBe 2
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before)
            }
        }
    })
