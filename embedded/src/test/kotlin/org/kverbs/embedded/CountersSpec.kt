package org.kverbs.embedded

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.maps.shouldBeEmpty
import io.kotest.matchers.maps.shouldContainAll
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.QueuePair
import org.kverbs.RemoteMemory
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.cm.ConnectionEventType.REJECTED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.embedded.cm.Parties
import org.kverbs.embedded.internal.wire.Icrc
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel
import java.time.Duration
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

private fun Map<String, Long>.counted() = filterValues { it != 0L }

private fun QueuePair.counted() = counters().counted()

private fun Device.counted() = counters().counted()

internal operator fun QueuePair.get(name: String) = counters().getValue(name)

/** Checks the counters of an embedded device and its queue pairs: they count what a card's driver counts. */
class CountersSpec :
    FunSpec({
        test("should count packets and bytes by queue pair and by device, also of a queue pair that is gone") {
            val options = ConnectOptions.builder().pathMtu(Mtu.MTU_1024).build()
            Pair(EmbeddedFabric.virtual(1), options = options).use { pair ->
                val (a, b) = pair
                a.qp.counted().shouldBeEmpty()
                a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 5000)).signaled() }
                a.take(1)
                a.qp.counted() shouldBe mapOf("sent_pkts" to 5L, "rcvd_pkts" to 1L, "sent_bytes" to 5000L)
                b.qp.counted() shouldBe mapOf("sent_pkts" to 1L, "rcvd_pkts" to 5L, "rcvd_bytes" to 5000L)
                val before = pair.client.counted()
                before shouldBe a.qp.counted()
                a.qp.close()
                pair.client.counted() shouldBe before
            }
        }

        test("should count packets that are sent again over a line that loses packets") {
            val pairs = List(4) { seed -> Pair(EmbeddedFabric.virtual(seed + 1L), options = patient) }
            val sum = mutableMapOf<String, Long>()
            pairs.forEach { pair ->
                pair.use {
                    it.fabric.setFaults(Faults.NONE.loss(0.05).duplication(0.05))
                    exchange(it, Random(1))
                    val both = it.a.qp.counted().entries + it.b.qp.counted().entries
                    both.forEach { (name, count) -> sum.merge(name, count, Long::plus) }
                }
            }
            val expected =
                listOf(
                    "retrans_pkts",
                    "duplicate_request",
                    "out_of_seq_request",
                    "rcvd_seq_err",
                    "completer_retry_err",
                ) +
                    "local_ack_timeout_err"
            expected.filter { it !in sum }.shouldBeEmpty()
        }

        test("should count nothing as sent again, and no retry, over a line that only delays") {
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                pair.fabric.setFaults(Faults.NONE.delay(Duration.ofNanos(2_000), Duration.ofNanos(2_000)))
                pair.a.post { write(1, pair.b.mr.remote()).from(pair.a.mr.slice(0, 1 shl 16)).signaled() }
                pair.a.take(1)
                val names = pair.a.qp.counted().keys + pair.b.qp.counted().keys
                names shouldBe setOf("sent_pkts", "rcvd_pkts", "sent_bytes", "rcvd_bytes")
            }
        }

        test("should count an RNR NAK at its sender and its receiver, and the failure when retries are used up") {
            val options = ConnectOptions.builder().rnrRetry(2).build()
            Pair(EmbeddedFabric.virtual(1), options = options).use { pair ->
                val (a, b) = pair
                a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().isSuccess shouldBe false
                a.qp.counters() shouldContainAll
                    mapOf("rcvd_rnr_err" to 3L, "retry_rnr_exceeded_err" to 1L, "retrans_pkts" to 2L)
                b.qp["send_rnr_err"] shouldBe 3L
            }
        }

        test("should count timeouts and the failure of a peer that is dead") {
            val options = ConnectOptions.builder().retryCount(3).build()
            Pair(EmbeddedFabric.virtual(1), options = options).use { pair ->
                val (a, b) = pair
                pair.fabric.kill(pair.server)
                a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().isSuccess shouldBe false
                a.qp["local_ack_timeout_err"] shouldBe 4L
                a.qp["completer_retry_err"] shouldBe 3L
                a.qp["retry_exceeded_err"] shouldBe 1L
                a.qp["retrans_pkts"] shouldBe 3L
                b.qp.counted().shouldBeEmpty()
            }
        }

        test("should count damaged packets at the device that drops them") {
            Pair(EmbeddedFabric.virtual(1), options = patient).use { pair ->
                pair.fabric.setFaults(Faults.NONE.corruption(0.1))
                exchange(pair, Random(1))
                val ends = listOf(pair.client, pair.server)
                val damaged = ends.sumOf { it.counters().getValue("rx_icrc_encapsulated") }
                damaged shouldBe pair.fabric.faultsInjected()
                damaged shouldBeGreaterThan 0
            }
        }

        test("should count datagrams that are not packets at the UDP device that drops them") {
            UdpPair().use { pair ->
                val device = pair.far.context.device()
                val target = InetSocketAddress(pair.far.qp.endpoint().gid().toInetAddress(), Icrc.UDP_PORT)
                DatagramChannel.open().use { stranger ->
                    listOf(1, 4, 5, 40).forEach { stranger.send(ByteBuffer.wrap(ByteArray(it) { -1 }), target) }
                }
                eventually(20.seconds) { device.counters().getValue("port_rcv_errors") shouldBe 4L }
                device.counted().keys shouldBe setOf("port_rcv_errors")
            }
        }

        test("should count an access that was refused, at both ends") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                val beyond = RemoteMemory(b.mr.address() + b.mr.length(), 8, b.mr.rkey())
                a.post { write(1, beyond).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().isSuccess shouldBe false
                a.qp["req_remote_access_errors"] shouldBe 1L
                b.qp["resp_remote_access_errors"] shouldBe 1L
            }
        }

        test("should count connection requests, and refusals at both ends") {
            Parties().use { (client, server) ->
                server.listen(portSpace = PortSpace.UDP)
                client.resolve(Parties.address()).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(REJECTED)
                server.device.counters() shouldContainAll mapOf("cm_rx_req" to 1L, "cm_tx_rej" to 1L, "cm_rx_rej" to 0L)
                client.device.counters() shouldContainAll mapOf("cm_rx_req" to 0L, "cm_tx_rej" to 0L, "cm_rx_rej" to 1L)
            }
        }

        test("should have no counters for a port that does not exist") {
            EmbeddedFabric.virtual(1).use { it.addDevice().counters(2).shouldBeEmpty() }
        }
    })
