package org.kverbs.management.trace

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldContainInOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import jdk.jfr.Recording
import jdk.jfr.consumer.RecordingFile
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.run
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.simulation.test
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.tshark
import java.io.IOException
import java.nio.file.Files
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.milliseconds

private const val PCAP_HEADER = 24
private const val RECORD = 16 + 16 + 8 + 12 + 8 + MAD_SIZE + 6

/** Gives back each datagram at once, after the reader of the file has gone away. */
private class EchoTransport(
    private val reader: Thread,
) : MadTransport {
    private lateinit var receiver: MadReceiver

    override fun port() = MadPort("echo", NodeInfo(), PortInfo())

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) {
        reader.join()
        receiver.received(mad, path)
    }

    override fun close() = Unit
}

class CaptureSpec :
    FunSpec({
        timeout = 60_000

        test(
            "should write a file in which tshark finds the datagrams of both directions, with their addresses",
        ).config(enabledOrReasonIf = { tshark.presentOrSkipped }) {
            tshark.require()
            val file = tempdir().toPath().resolve("fabric.pcap")
            simulatedFabric {
                hosts(30)
                subnetManager()
            }.test { simulation ->
                fabric(simulation.port("H-2").captured(file)).use { fabric ->
                    fabric.get<NodeInfo>(directed(0, 1))
                    fabric.get<PortCounters>(lid(1)) { portSelect = 1 }
                    fabric.sa.records<NodeRecord>()
                }
            }
            val fields = listOf("infiniband.lrh.dlid", "infiniband.mad.mgmtclass", "infiniband.mad.method")
            val all = listOf("tshark", "-r", "$file", "-T", "fields") + fields.flatMap { listOf("-e", it) }
            val lines = run(all).trimEnd('\n').lines().map { it.split('\t') }
            lines.take(2).map { it[1] to it[2] } shouldContainExactly listOf("0x81" to "0x01", "0x81" to "0x81")
            lines.take(2).map { it[0] } shouldContainExactly listOf("65535", "65535")
            val counters = lines.filter { it[1] == "0x04" }
            counters.map { it[2] } shouldContainExactly listOf("0x01", "0x81")
            counters[0][0] shouldBe "1"
            // The answer of the administrator is long: each of its packets, and each confirmation, is there.
            lines.filter { it[1] == "0x03" }.map { it[2] } shouldContainInOrder listOf("0x12", "0x92", "0x92")
        }

        test("should go on with the file when a thread that is interrupted sends") {
            val file = tempdir().toPath().resolve("fabric.pcap")
            MadCapture(file).use { capture ->
                val empty = Files.size(file)
                repeat(3) {
                    Thread.currentThread().interrupt()
                    try {
                        capture.record(ByteArray(MAD_SIZE), lid(1), isSent = true, own = 1)
                    } finally {
                        Thread.interrupted() shouldBe true
                    }
                }
                Files.size(file) - empty shouldBe 3 * RECORD
            }
        }

        test("should end what is asked with a sentence when the file takes no more, and say it at the end again") {
            val pipe = tempdir().toPath().resolve("pipe")
            run(listOf("mkfifo", "$pipe"))
            // A reader that goes away is as a disk that is full: the next write fails.
            val reader = thread { Files.newInputStream(pipe).use { it.readNBytes(PCAP_HEADER) } }
            simulatedFabric { hosts(2) }.test { simulation ->
                val fabric = fabric(simulation.port("H-1").captured(pipe))
                reader.join()
                shouldThrow<IOException> { repeat(2) { fabric.get<NodeInfo>(directed(0)) } }.message shouldContain
                    "cannot be written to $pipe any more: "
                shouldThrow<IOException> { fabric.close() }
            }
        }

        test("should hand over a datagram that arrives when the file takes no more, and end the next request") {
            val pipe = tempdir().toPath().resolve("pipe")
            run(listOf("mkfifo", "$pipe"))
            val reader = thread { Files.newInputStream(pipe).use { it.readNBytes(PCAP_HEADER + RECORD) } }
            val transport = EchoTransport(reader)
            val captured = transport.captured(pipe)
            val arrived = ArrayList<ByteArray>()
            captured.receive(
                object : MadReceiver {
                    override fun received(
                        mad: ByteArray,
                        back: MadPath?,
                    ) {
                        arrived += mad
                    }

                    override fun undelivered(mad: ByteArray) = Unit
                },
            )
            captured.send(ByteArray(MAD_SIZE), lid(1))
            arrived.size shouldBe 1
            shouldThrow<IOException> { captured.send(ByteArray(MAD_SIZE), lid(1)) }
            arrived.size shouldBe 1
        }

        test("should write what has no header, too") {
            val file = tempdir().toPath().resolve("fabric.pcap")
            MadCapture(file).use { capture ->
                for (size in 0..3) capture.record(ByteArray(size), lid(1), isSent = false, own = 1)
            }
        }

        test("should record an event of Java Flight Recorder for each event, beside another listener") {
            val file = tempdir().toPath().resolve("fabric.jfr")
            val printed = ArrayList<String>()
            Recording().use { recording ->
                recording.enable("org.kverbs.Mad")
                recording.start()
                simulatedFabric { hosts(2) }.test { simulation ->
                    simulation
                        .fabric("H-1") {
                            listener(JfrListener)
                            listener { synchronized(printed) { printed += it.dump() } }
                            retries(0)
                            timeout(100.milliseconds)
                        }.use { fabric ->
                            fabric.get<NodeInfo>(directed(0))
                            simulation.mute("H-2")
                            simulation.faults { loss = 1.0 }
                            shouldThrow<MadTimeoutException> { fabric.get<NodeInfo>(directed(0, 1)) }
                        }
                }
                recording.dump(file)
            }
            val events = RecordingFile.readAllEvents(file).filter { it.eventType.name == "org.kverbs.Mad" }
            events.map { it.getString("kind") } shouldContainInOrder listOf("SENT", "COMPLETED", "SENT", "TIMED_OUT")
            events.first().getString("datagram") shouldContain "MAD_METHOD_GET(1)"
            printed.size shouldBe events.size
            printed[1] shouldContain "nodeType=CA(1)"
        }
    })
