package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.engine.Task
import org.kverbs.embedded.internal.objects.PacketPort
import org.kverbs.embedded.internal.udp.UdpPort
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import java.net.InetAddress
import java.time.Duration

private const val QUEUE_PAIRS = 32
private const val MTU = 256
private const val ACK = 0x1f
private const val NAK_SEQUENCE = 0x60
private const val BYTES = 1L shl 18

/** The default of Linux' net.core.rmem_max. */
private const val USUAL_BUFFER = 212_992

/** Checks that all queue pairs to a peer share one window, which losses reduce. */
class SharedWindowSpec :
    FunSpec({
        fun connected(
            from: Device,
            to: Device,
            count: Int = QUEUE_PAIRS,
            type: QueuePairType = QueuePairType.RC,
            options: ConnectOptions = ConnectOptions.DEFAULTS,
        ) = List(count) {
            val ends = End(from, type, BYTES) to End(to, type, BYTES)
            ends.first.qp.connect(ends.second.qp.endpoint(options), options)
            ends.second.qp.connect(ends.first.qp.endpoint(options), options)
            ends
        }

        fun List<kotlin.Pair<End, End>>.close() = forEach { (a, b) -> listOf(a, b).forEach(End::close) }

        test("should not overrun a slow receiver by many queue pairs, whether they write or read") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val near = fabric.addDevice()
                val far = fabric.addDevice()
                val ends = connected(near, far)
                fabric.setFaults(Faults.NONE.slowReceiver(100_000))
                ends.forEach { (a, b) -> a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() } }
                ends.forEach { (a, _) -> a.take(1).single().status() shouldBe SUCCESS }
                ends.forEach { (a, b) -> a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() } }
                ends.forEach { (a, _) -> a.take(1).single().status() shouldBe SUCCESS }
                val dropped = fabric.faultsInjected()
                ends.close()
                dropped shouldBe 0
            }
        }

        test("should not overrun a slow receiver by many unreliable queue pairs") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val near = fabric.addDevice()
                val far = fabric.addDevice()
                val ends = connected(near, far, type = QueuePairType.UC)
                fabric.setFaults(Faults.NONE.slowReceiver(100_000))
                ends.forEach { (a, b) -> a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() } }
                ends.forEach { (a, _) -> a.take(1).single().status() shouldBe SUCCESS }
                val dropped = fabric.faultsInjected()
                ends.close()
                dropped shouldBe 0
            }
        }

        test("should leave room for others beside a queue pair whose peer is silent and that has no timeout") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val near = fabric.addDevice()
                val far = fabric.addDevice()
                val (stuck, fine) = connected(near, far, 2, options = ConnectOptions.builder().timeout(0).build())
                fabric.setFaults(Faults.NONE.delay(Duration.ofNanos(10_000)))
                stuck.second.close()
                stuck.first.post { write(1, fine.second.mr.remote()).from(stuck.first.mr.slice()).signaled() }
                val (a, b) = fine
                a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() }
                a.take(1).single().status() shouldBe SUCCESS
                // Several packets at a time: a round trip for each of the 64 takes longer.
                fabric.clock().elapsed() shouldBeLessThan Duration.ofNanos(64 * 20_000)
                listOf(stuck.first, a, b).forEach(End::close)
            }
        }

        test("should halve the window when packets are lost, once a window, and grow it again") {
            PeerBench(window = 64).use { bench ->
                fun burst(psn: Int) = bench.arrive(Opcode.RC_ACK, psn) { syndrome = NAK_SEQUENCE }.size
                bench.during { repeat(4) { bench.write() } }.size shouldBe 48
                burst(0) shouldBe 24
                burst(0) shouldBe 0 // a known loss has no effect
                bench.acknowledge(9)
                burst(10) shouldBe 24 // fewer packets than a window have arrived since
                bench.acknowledge(43)
                burst(44) shouldBe 12
                var acknowledged = 43
                repeat(60) {
                    acknowledged += 10
                    bench.acknowledge(acknowledged)
                }
                bench.sent.last().psn - acknowledged shouldBeGreaterThan 12
            }
        }

        test("should lose little to a socket with the usual buffer, however many queue pairs write and read") {
            val addresses = loopbackAddresses(2)
            val words = addresses.joinToString(",") { "udp:$it" }
            val devices = Configuration.of(words).devices().map { it as EmbeddedDevice }
            val ports =
                devices.zip(addresses) { device, address ->
                    val port = UdpPort(device.hca(), InetAddress.ofLiteral(address), true, USUAL_BUFFER)
                    CountingPort(port).also(device.hca()::connect)
                }
            val (near, far) = devices.map { Device.of(EmbeddedProvider(), it) }
            val ends = connected(near, far)
            try {
                repeat(8) {
                    ends.forEach { (a, b) ->
                        a.post {
                            write(1, b.mr.remote()).from(a.mr.slice()).signaled()
                            read(2, b.mr.remote()).into(a.mr.slice()).signaled()
                        }
                    }
                    ends.forEach { (a, _) -> a.await(2).forEach { it.status() shouldBe SUCCESS } }
                }
            } finally {
                ends.close()
            }
            withClue("${ports.map { it.data }} packets of data, ${ports.map { it.again }} of them again") {
                ports.sumOf { it.data } shouldBeGreaterThan 2 * 8 * QUEUE_PAIRS * BYTES / 4096 - 1
                ports.sumOf { it.again } shouldBeLessThan ports.sumOf { it.data } / 50
            }
        }
    })

/** Counts the packets that carry data, and those of them that were sent before. */
private class CountingPort(
    private val port: PacketPort,
) : PacketPort by port {
    private val ends = HashMap<Int, Int>()
    var data = 0L
        private set
    var again = 0L
        private set

    override fun mustWait(task: Task) = port.mustWait(task)

    override fun leadsToOtherProcesses() = port.leadsToOtherProcesses()

    override fun send(packet: Packet) {
        if (packet.payloadLength > 0) {
            data++
            val direction = if (Opcode.isRequest(packet.opcode)) packet.destinationQp else -packet.destinationQp
            val ahead = ends[direction]?.let { (packet.psn - it) shl 8 shr 8 } ?: 0
            if (ahead < 0) again++ else ends[direction] = packet.psn + 1
        }
        port.send(packet)
    }
}

private fun PeerBench.write() = qp.postWith { it.write(1, mr.remote()).from(mr.slice(0, mr.length())).signaled() }

private fun PeerBench.acknowledge(psn: Int) = arrive(Opcode.RC_ACK, psn) { syndrome = ACK }
