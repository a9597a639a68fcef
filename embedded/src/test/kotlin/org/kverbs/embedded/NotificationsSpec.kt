package org.kverbs.embedded

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeInRange
import io.kotest.matchers.shouldBe
import jdk.net.ExtendedSocketOptions
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode.CNP
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.UD_SEND_ONLY
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.wire.Buffer
import org.kverbs.embedded.wire.Tshark
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel
import java.time.Duration
import kotlin.time.Duration.Companion.seconds

private const val CONGESTED = 3
private const val MARKABLE = 2
private const val LINE = 2_500_000L
private const val LEAST = LINE / 1000

private fun PeerBench.marked(
    psn: Int,
    opcode: Int = RC_WRITE_ONLY,
    more: Packet.() -> Unit = {},
) = arrive(opcode, psn) {
    trafficClass = 0x60 or CONGESTED
    more()
}

private fun PeerBench.write() = qp.postWith { it.write(1, mr.remote()).from(mr.slice(0, 8)).signaled() }

private fun PeerBench.flood(count: Int) =
    repeat(count) {
        arrive(CNP, 0)
        pass(Duration.ofNanos(10_000))
    }

/** Checks congestion notifications packet by packet, honest and hostile ones. */
class NotificationsSpec :
    FunSpec({
        for (type in listOf(RC, QueuePairType.UC)) {
            test("should notify the sender of marked packets, once in 50 us, on $type") {
                PeerBench(type).use { bench ->
                    val opcode = RC_WRITE_ONLY or if (type == RC) 0 else 0x20
                    bench.marked(0, opcode) shouldBe listOf(Sent(CNP, 0, 0, 0))
                    bench.headers.last() shouldBe bench.headers.last().copy(queuePair = 2, trafficClass = 0)
                    repeat(9) { bench.marked(it + 1, opcode).shouldBeEmpty() }
                    bench.pass(Duration.ofNanos(50_000))
                    bench.marked(10, opcode).map { it.opcode } shouldBe listOf(CNP)
                    bench.qp["np_ecn_marked_roce_packets"] shouldBe 11
                    bench.qp["np_cnp_sent"] shouldBe 2
                    bench.qp["rp_rate_kbps"] shouldBe 0 // it is the peer that must send more slowly
                }
            }
        }

        test("should notify nobody of packets without a mark, of datagrams, or of strangers' packets") {
            PeerBench().use { bench ->
                bench.arrive(RC_WRITE_ONLY, 0) { trafficClass = MARKABLE }.shouldBeEmpty()
                bench.arrive(RC_WRITE_ONLY, 1) { trafficClass = 1 }.shouldBeEmpty()
                bench.marked(2) { sourceGidLow++ }.shouldBeEmpty()
                bench.qp["np_ecn_marked_roce_packets"] shouldBe 0
            }
            PeerBench(UD).use { bench ->
                bench.qp.postReceive(1, bench.mr.slice(0, 100))
                bench.marked(0, UD_SEND_ONLY).shouldBeEmpty()
                bench.poll().single().status() shouldBe SUCCESS
            }
        }

        test("should halve its rate at the first notification, and obey the next only after 50 us") {
            PeerBench().use { bench ->
                bench.arrive(CNP, 0).shouldBeEmpty()
                bench.qp["rp_rate_kbps"] shouldBe LINE / 2
                repeat(5) { bench.arrive(CNP, 0) }
                bench.qp["rp_rate_kbps"] shouldBe LINE / 2
                bench.pass(Duration.ofNanos(50_000))
                bench.arrive(CNP, 0)
                bench.qp["rp_rate_kbps"] shouldBeInRange LINE / 4..LINE * 26 / 100
                bench.qp["rp_cnp_handled"] shouldBe 2
                bench.qp["rp_cnp_ignored"] shouldBe 5
            }
        }

        test("should go on sending whatever notifications come, and recover when they end") {
            PeerBench().use { bench ->
                bench.flood(10_000)
                bench.qp["rp_rate_kbps"] shouldBeInRange LEAST..2 * LEAST
                bench.write()
                bench.pass(Duration.ofMillis(1))
                bench.headers.size shouldBe 1
                bench.arrive(RC_ACK, 0) { syndrome = 0x1f }
                bench.poll().single().status() shouldBe SUCCESS
                bench.pass(Duration.ofSeconds(20))
                bench.qp["rp_rate_kbps"] shouldBe 0
                bench.scheduled shouldBe 0
            }
        }

        test("should not mind notifications of strangers, to datagrams, or to queue pairs that send nothing") {
            PeerBench().use { bench ->
                bench.arrive(CNP, 0) { sourceGidLow++ }
                bench.arrive(CNP, 0) { destinationQp++ }
                bench.arrive(CNP, 0) { pkey = 0x1234 }
                bench.qp["rp_rate_kbps"] shouldBe 0
                bench.qp["rp_cnp_ignored"] shouldBe 1
                bench.qp.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
                bench.arrive(CNP, 0)
                bench.qp["rp_cnp_handled"] shouldBe 0
                bench.scheduled shouldBe 0
            }
            PeerBench(UD).use { bench ->
                bench.arrive(CNP, 0).shouldBeEmpty()
                bench.qp["rp_cnp_ignored"] shouldBe 1
                bench.qp["rp_rate_kbps"] shouldBe 0
            }
        }

        test("should leave nothing behind when it is reset, destroyed or in the error state") {
            fun to(state: QueuePairState) = QueuePairAttributes.builder().state(state).build()
            val ends =
                listOf<(PeerBench) -> Unit>(
                    { it.qp.modify(to(QueuePairState.RESET)) },
                    { it.qp.modify(to(QueuePairState.ERR)) },
                    { it.qp.close() },
                )
            ends.forEach { end ->
                PeerBench().use { bench ->
                    bench.flood(10)
                    bench.write()
                    end(bench)
                    bench.scheduled shouldBe 0
                }
            }
        }

        test("should obey a notification over UDP if its ICRC is right") {
            UdpPair().use { pair ->
                val here = pair.near.qp.endpoint().gid().toInetAddress()
                val there = pair.far.qp.endpoint().gid().toInetAddress()
                DatagramChannel.open().use { peer ->
                    peer.setOption(ExtendedSocketOptions.IP_DONTFRAGMENT, true)
                    peer.bind(InetSocketAddress(there, 0))
                    val port = (peer.localAddress as InetSocketAddress).port
                    val bytes = ByteBuffer.allocate(28)
                    bytes.put(CNP.toByte()).put(0).putShort(-1).putInt(0x40000000 or pair.near.qp.number())
                    val sum =
                        Icrc().ofV4(
                            ByteBuffer.wrap(there.address).getInt(),
                            ByteBuffer.wrap(here.address).getInt(),
                            Icrc.DONT_FRAGMENT,
                            port,
                            Icrc.UDP_PORT,
                            Buffer().put(bytes.array()).address,
                            28,
                        )
                    val packet = Buffer().put(bytes.array())
                    Icrc.put(packet.address + 28, sum xor 0x55aa55aa)
                    val target = InetSocketAddress(here, Icrc.UDP_PORT)
                    peer.send(ByteBuffer.wrap(packet.bytes(32)), target)
                    eventually(20.seconds) {
                        pair.near.context.device().counters().getValue("rx_icrc_encapsulated") shouldBe 1L
                    }
                    pair.near.qp["rp_cnp_handled"] shouldBe 0
                    Icrc.put(packet.address + 28, sum)
                    peer.send(ByteBuffer.wrap(packet.bytes(32)), target)
                    eventually(20.seconds) { pair.near.qp["rp_cnp_handled"] shouldBe 1L }
                    pair.near.post { write(1, pair.far.mr.remote()).from(pair.near.mr.slice(0, 8)).signaled() }
                    pair.near.await(1).single().status() shouldBe SUCCESS
                }
            }
        }

        test("should be a notification to tshark, on a network whose marks it shows")
            .config(enabledOrReasonIf = Tshark::presentOrSkipped) {
                Tshark.require()
                val file = tempfile(suffix = ".pcap")
                val options = ConnectOptions.builder().pathMtu(Mtu.MTU_1024).build()
                Pair(EmbeddedFabric.virtual(1), options = options).use { pair ->
                    val (a, b) = pair
                    pair.fabric.capture(file.toPath()).use {
                        pair.fabric.setFaults(pair.client, pair.server, Faults.NONE.marking(0.5))
                        a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() }
                        a.take(1).single().status() shouldBe SUCCESS
                    }
                    b.qp["np_cnp_sent"] shouldBeGreaterThan 0
                    val opcodes = Tshark.fields(file.path, "infiniband.bth.opcode").map { it.toInt() }
                    opcodes.count { it == CNP }.toLong() shouldBe b.qp["np_cnp_sent"]
                    val peers = Tshark.fields(file.path, "infiniband.bth.destqp").map { Integer.decode(it) }
                    opcodes.zip(peers).filter { it.first == CNP }.map { it.second }.toSet() shouldBe
                        setOf(a.qp.number())
                    val ecn = Tshark.fields(file.path, "ip.dsfield.ecn").map { it.toInt() }
                    opcodes.zip(ecn).filter { it.first == CNP }.map { it.second }.toSet() shouldBe setOf(0)
                    ecn.count { it == CONGESTED }.toLong() shouldBe b.qp["np_ecn_marked_roce_packets"]
                    ecn shouldContain MARKABLE
                }
                Tshark.complaints(file.path).shouldBeEmpty()
            }
    })
