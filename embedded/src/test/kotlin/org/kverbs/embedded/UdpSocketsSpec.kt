package org.kverbs.embedded

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.udp.UdpPort
import java.net.InetAddress
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

private const val BYTES = 1L shl 20

/** Opens a device of its own engine at a loopback address, with one kind of sockets. */
private fun device(
    address: String,
    isNative: Boolean,
): Device {
    val device = Configuration.of("udp:$address").devices().single() as EmbeddedDevice
    device.hca().connect(UdpPort(device.hca(), InetAddress.ofLiteral(address), isNative))
    return Device.of(EmbeddedProvider(), device)
}

/** Checks that the system's sockets, which send and take many packets at once, and those of Java do the same. */
class UdpSocketsSpec :
    FunSpec({
        for ((near, far) in listOf(true to true, true to false, false to true, false to false)) {
            for (mtu in listOf(Mtu.MTU_256, Mtu.MTU_1024, Mtu.MTU_4096)) {
                test("should move messages of all sizes: native here $near, native there $far, $mtu") {
                    val addresses = loopbackAddresses(2)
                    val options = ConnectOptions.builder().pathMtu(mtu).build()
                    End(device(addresses[0], near), QueuePairType.RC, BYTES).use { a ->
                        End(device(addresses[1], far), QueuePairType.RC, BYTES).use { b ->
                            a.qp.connect(b.qp.endpoint(options), options)
                            b.qp.connect(a.qp.endpoint(options), options)
                            move(a, b)
                        }
                    }
                }
            }
        }

        test("should notify the sender of packets that the network marked, and the sender obeys") {
            val addresses = loopbackAddresses(2)
            val marked = ConnectOptions.builder().trafficClass(3).build()
            End(device(addresses[0], true), QueuePairType.RC, BYTES).use { a ->
                End(device(addresses[1], true), QueuePairType.RC, BYTES).use { b ->
                    a.qp.connect(b.qp.endpoint(), marked)
                    b.qp.connect(a.qp.endpoint())
                    a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8192)).signaled() }
                    a.await(1).single().status() shouldBe SUCCESS
                    b.qp["np_ecn_marked_roce_packets"] shouldBeGreaterThan 1
                    b.qp["np_cnp_sent"] shouldBeGreaterThan 0
                    eventually(20.seconds) { a.qp["rp_cnp_handled"] shouldBeGreaterThan 0 }
                }
            }
        }
    })

private fun move(
    a: End,
    b: End,
) {
    val random = Random(7)
    a.fill(1)
    repeat(6) {
        val sizes = List(16) { if (it % 4 == 0) random.nextLong(0, 60_000) else random.nextLong(0, 300) }
        val places = sizes.indices.map { 65_536L * it }
        sizes.forEachIndexed { i, size -> b.qp.postReceive(i.toLong(), b.mr.slice(places[i], size)) }
        a.post { sizes.forEachIndexed { i, size -> send(i.toLong()).from(a.mr.slice(places[i], size)).signaled() } }
        a.await(16).forEach { it.status() shouldBe SUCCESS }
        b.await(16).map { it.byteLength() } shouldBe sizes
        sizes.forEachIndexed { i, size ->
            withClue("message $i of $size bytes") { b.bytes(places[i], size) shouldBe a.bytes(places[i], size) }
        }
    }
    b.fill(2)
    a.post { read(1, b.mr.remote()).into(a.mr.slice()).signaled() }
    a.await(1).single().status() shouldBe SUCCESS
    a.bytes(0, BYTES) shouldBe b.bytes(0, BYTES)
    a.fill(3)
    a.post { write(1, b.mr.remote()).from(a.mr.slice()).signaled() }
    a.await(1).single().status() shouldBe SUCCESS
    b.bytes(0, BYTES) shouldBe a.bytes(0, BYTES)
}
