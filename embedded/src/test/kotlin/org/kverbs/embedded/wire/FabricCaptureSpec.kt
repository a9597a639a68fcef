package org.kverbs.embedded.wire

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldBeSorted
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.Mtu
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Pair
import org.kverbs.embedded.exchange
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_WRITE
import org.kverbs.embedded.internal.wire.Opcode.RC_FLUSH
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_MIDDLE
import org.kverbs.embedded.patient
import java.io.UncheckedIOException
import java.nio.file.Path
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executor
import java.util.concurrent.TimeUnit
import kotlin.random.Random

private val SMALL: ConnectOptions = ConnectOptions.builder().pathMtu(Mtu.MTU_1024).build()

private val Frame.opcode get() = udpPayload[0].toInt() and 0xff

private fun Frame.hasRightIcrc() = fits(this, Buffer().put(udpPayload))

private fun Pair.write(bytes: Long) {
    a.post { write(1, b.mr.remote()).from(a.mr.slice(0, bytes)).signaled() }
    a.take(1).single().isSuccess shouldBe true
}

/** Checks captures of the packets between the devices of a fabric. */
class FabricCaptureSpec :
    FunSpec({
        test("should have the packets of a message over a perfect link, none longer than the path MTU") {
            val file = tempfile(suffix = ".pcap")
            Pair(EmbeddedFabric.virtual(1), options = SMALL).use { pair ->
                pair.write(5000)
                val capture = pair.fabric.capture(file.toPath())
                pair.a.fill(7)
                pair.write(5000)
                pair.b.bytes(0, 5000) shouldBe pair.a.bytes(0, 5000)
                capture.packets() shouldBe 6L
                capture.close()
                pair.write(5000)
                capture.packets() shouldBe 6L
            }
            val frames = PcapFile.read(file.readBytes())
            val middle = RC_WRITE_MIDDLE
            frames.map { it.opcode } shouldBe listOf(RC_WRITE_FIRST, middle, middle, middle, RC_WRITE_LAST, RC_ACK)
            frames.all { it.hasRightIcrc() } shouldBe true
        }

        test("should hold the packets that a bad line delivers: no lost packet, and damaged ones with a wrong ICRC") {
            val file = tempfile(suffix = ".pcap")
            var damaged = 0L
            var passed = 0L
            Pair(EmbeddedFabric.virtual(3), options = patient).use { pair ->
                pair.fabric.capture(file.toPath()).use { capture ->
                    pair.fabric.setFaults(Faults.NONE.loss(0.05).corruption(0.05))
                    exchange(pair, Random(3))
                    passed = capture.packets()
                    val counters = listOf(pair.client.counters(), pair.server.counters())
                    damaged = counters.sumOf { it.getValue("rx_icrc_encapsulated") }
                    counters.sumOf { it.getValue("rcvd_pkts") } shouldBe passed - damaged
                }
            }
            val frames = PcapFile.read(file.readBytes())
            frames.size.toLong() shouldBe passed
            frames.count { !it.hasRightIcrc() }.toLong() shouldBe damaged
            damaged.toInt() shouldBeGreaterThan 0
        }

        test("should be RoCEv2 to tshark, at virtual times").config(enabledOrReasonIf = Tshark::presentOrSkipped) {
            Tshark.require()
            val file = tempfile(suffix = ".pcap")
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                pair.fabric.clock().advance(Duration.ofSeconds(5))
                pair.fabric.capture(file.toPath()).use {
                    pair.fabric.setFaults(Faults.NONE.loss(0.05).duplication(0.05).delay(Duration.ofMillis(1)))
                    exchange(pair, Random(1))
                }
            }
            Tshark.complaints(file.path).shouldBeEmpty()
            val frames = PcapFile.read(file.readBytes())
            Tshark.fields(file.path, "infiniband.bth.opcode").map { it.toInt() } shouldBe frames.map { it.opcode }
            val times = Tshark.fields(file.path, "frame.time_epoch").map { it.toDouble() }
            times.shouldBeSorted()
            (times.first() in 5.0..6.0) shouldBe true
        }

        // tshark 4.0 has no names for annex A19, and takes the bytes after the BTH for payload.
        test("should have atomic writes and flushes with their headers and bare answers, and tshark their opcodes")
            .config(enabledOrReasonIf = Tshark::presentOrSkipped) {
                Tshark.require()
                val file = tempfile(suffix = ".pcap")
                val features = setOf(Feature.ATOMIC_WRITE, Feature.FLUSH)
                Pair(EmbeddedFabric.virtual(1), options = SMALL, features = features).use { pair ->
                    val (a, b) = pair
                    pair.fabric.capture(file.toPath()).use {
                        a.post {
                            flush(1, b.mr.remote(), FlushPlacement.GLOBAL)
                            atomicWrite(2, b.mr.remote(), 0x0102030405060708)
                            flushRegion(3, b.mr.rkey(), FlushPlacement.GLOBAL).signaled()
                        }
                        a.take(1).single().isSuccess shouldBe true
                    }
                }
                val frames = PcapFile.read(file.readBytes())
                frames.map { it.opcode } shouldBe
                    listOf(RC_FLUSH, RC_READ_RESPONSE_ONLY, RC_ATOMIC_WRITE, RC_READ_RESPONSE_ONLY, RC_FLUSH) +
                    RC_READ_RESPONSE_ONLY
                frames.all { it.hasRightIcrc() } shouldBe true
                Tshark.fields(file.path, "infiniband.bth.opcode").map { it.toInt() } shouldBe frames.map { it.opcode }
                Tshark.complaints(file.path).shouldBeEmpty()
            }

        test("should refuse a second capture while one is open, and a file that can't be written") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val nowhere = "/proc/none/x.pcap"
                shouldThrow<UncheckedIOException> { fabric.capture(Path.of(nowhere)) }.message shouldContain nowhere
                val first = fabric.capture(tempfile().toPath())
                shouldThrow<IllegalStateException> { fabric.capture(tempfile().toPath()) }
                first.close()
                first.close()
                fabric.capture(tempfile().toPath())
            }
        }

        test("should let devices work while it waits for the file, as for the reader of a pipe") {
            val pipe = tempfile().also { it.delete() }
            ProcessBuilder("mkfifo", pipe.path).start().waitFor() shouldBe 0
            Pair(EmbeddedFabric.realTime(1), options = SMALL).use { pair ->
                val threads = Executor { Thread.ofPlatform().start(it) } // the common pool may have only one thread
                val opening = CompletableFuture.supplyAsync({ pair.fabric.capture(pipe.toPath()) }, threads)
                Thread.sleep(200) // long enough to be within the open; otherwise the test shows nothing
                val works = CompletableFuture.runAsync({ pair.write(5000) }, threads)
                val worked = runCatching { works.get(20, TimeUnit.SECONDS) }
                pipe.inputStream().use {
                    opening.get().close()
                    it.readBytes()
                }
                worked.getOrThrow()
            }
        }

        test("should report a full disk at its end, and not disturb the program before") {
            Pair(EmbeddedFabric.virtual(1), options = SMALL).use { pair ->
                val capture = pair.fabric.capture(Path.of("/dev/full"))
                repeat(10) { pair.write(5000) }
                shouldThrow<UncheckedIOException> { capture.close() }.message shouldContain "/dev/full"
            }
        }
    })
