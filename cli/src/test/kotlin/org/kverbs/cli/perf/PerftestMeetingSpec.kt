package org.kverbs.cli.perf

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import org.kverbs.RemoteMemory
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint
import java.io.DataInputStream
import java.io.OutputStream
import java.net.InetSocketAddress
import java.net.ServerSocket
import java.nio.ByteBuffer
import java.nio.channels.SocketChannel
import java.util.concurrent.CompletableFuture
import kotlin.time.Duration.Companion.seconds

/** What ib_write_bw 6.06 sent over TCP in the lab: its version, and its address with the end of a C string. */
private val VERSION = "6.06".encodeToByteArray().copyOf(16)
private const val ADDRESS =
    "0000:0001:000014:d19ae2:000005db:000055a52c86e000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:01:00000000:\u0000"

private val OURS =
    Meeting.Place(
        QueuePairEndpoint(0, Gid.parse("::ffff:10.99.0.2"), 0x17, 0x123456, 4096, 0),
        RemoteMemory(0x7f0000001000, 65536, 0x77),
        16,
    )

/** The exchange with perftest's programs, without RDMA: the peer is a script. */
internal class PerftestMeetingSpec :
    FunSpec({
        val options = PerfOptions(PerfTest.WRITE_BW, asPerftest = true, timeout = 5.seconds)

        fun <T> meet(
            leads: Boolean,
            script: (DataInputStream, OutputStream) -> T,
            ours: (PerftestMeeting) -> Unit,
        ): T =
            ServerSocket(0).use { server ->
                val peer =
                    CompletableFuture.supplyAsync {
                        server.accept().use { script(DataInputStream(it.getInputStream()), it.getOutputStream()) }
                    }
                val channel = SocketChannel.open(InetSocketAddress("127.0.0.1", server.localPort))
                Wire(channel, options.timeout).use { ours(PerftestMeeting(it, leads, options, 4096)) }
                peer.get()
            }

        test("should answer a client's messages with those of the same length, and read its address") {
            val answers =
                meet(
                    leads = false,
                    { input, output ->
                        val numbers = listOf(byteArrayOf(0, 0, 16, 0), byteArrayOf(0, 0, 0, 64))
                        val mtu = "3\u0000".encodeToByteArray()
                        val sent = listOf(VERSION) + numbers + listOf(mtu) + List(3) { ADDRESS.encodeToByteArray() }
                        sent.map { message ->
                            output.write(message)
                            input.readNBytes(message.size).decodeToString()
                        }
                    },
                ) { meeting ->
                    meeting.greet()
                    val (peer) = meeting.exchange(listOf(OURS))
                    peer.endpoint.queuePairNumber() shouldBe 0x14
                    peer.endpoint.psn() shouldBe 0xd19ae2
                    peer.endpoint.gid() shouldBe Gid.parse("::ffff:10.99.0.1")
                    peer.endpoint.mtu() shouldBe 1024 // the smaller: the peer's code is 3
                    peer.memory shouldBe RemoteMemory(0x55a52c86e000, 65536, 0x5db)
                    meeting.connected()
                }
            answers[0].trimEnd('\u0000') shouldBe "6.06"
            answers[3] shouldBe "5\u0000"
            answers[4] shouldBe
                "0000:0001:000017:123456:00000077:00007f0000001000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:02:" +
                "00000000:\u0000"
            answers.drop(4).distinct().size shouldBe 1
        }

        test("should send first as the client") {
            val first =
                meet(
                    leads = true,
                    { input, output ->
                        input.readNBytes(16).also { output.write("HTTP/1.1 400 Bad".encodeToByteArray()) }
                    },
                ) { meeting ->
                    shouldThrow<PerfException> { meeting.greet() }.message shouldContain "it is no program of perftest"
                }
            first.decodeToString() shouldMatch Regex("[0-9]\\.[0-9]{2}\u0000+")
        }

        test("should refuse an address of another form") {
            meet(
                leads = false,
                { input, output ->
                    val mtu = "5\u0000".encodeToByteArray()
                    for (message in listOf(VERSION, ByteArray(4), ByteArray(4), mtu, ByteArray(108))) {
                        output.write(message)
                        if (message.size < 108) input.readNBytes(message.size)
                    }
                    input.read()
                },
            ) { meeting ->
                meeting.greet()
                shouldThrow<PerfException> { meeting.exchange(listOf(OURS)) }.message shouldContain "of another form"
            }
        }

        fun reported(
            rate: Double,
            ours: (PerftestMeeting) -> Unit,
        ) = meet(
            leads = false,
            { input, output ->
                val numbers = listOf(65536L, 5L).map { ByteBuffer.allocate(8).putLong(it) }
                for (number in numbers + List(3) { ByteBuffer.allocate(8).putDouble(rate) }) {
                    output.write(number.array())
                    input.readNBytes(8)
                }
            },
            ours,
        )

        test("should give no time, rather than an infinite one, to a peer that reports the rate 0") {
            reported(0.0) { it.report(null, options.timeout)?.seconds shouldBe 0.0 }
        }

        test("should refuse figures of the peer that are no numbers: JSON has no word for them") {
            for (rate in listOf(Double.NaN, Double.POSITIVE_INFINITY, Double.MAX_VALUE)) {
                reported(rate) { meeting ->
                    shouldThrow<PerfException> { meeting.report(null, options.timeout) }.message shouldBe
                        "the peer reports figures that are no numbers"
                }
            }
        }

        test("should say that the peer has gone when it closes the connection") {
            meet(leads = true, { input, _ -> input.readNBytes(16) }) { meeting ->
                shouldThrow<PerfException> { meeting.greet() }.message shouldContain "has closed the connection"
            }
        }
    })
