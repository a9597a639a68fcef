package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.doubles.shouldBeLessThan
import org.kverbs.WorkCompletions
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import org.kverbs.embedded.wire.Buffer
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel

private const val STRANGERS = 4101
private const val WRITES = 200
private const val BLOCKS = 30

/** A busy machine is slow for a while, but not for all of these turns. */
private const val TURNS = 20

/**
 * Returns addresses of the loopback network that share a place with a host in a table with a fixed hash, which this
 * device once had.
 */
private fun strangers(host: InetAddress): List<InetAddress> {
    fun place(address: Int) = (address * -0x61c88647).let { (it xor (it ushr 16)) and 4095 }
    val taken = place(ByteBuffer.wrap(host.address).getInt())
    val all =
        (0x7f000100..<0x7fffffff)
            .filter { place(it) == taken }
            .map { InetAddress.getByAddress(ByteBuffer.allocate(4).putInt(it).array()) }
    return List(STRANGERS) { all[it % all.size] }
}

/** Makes a correct packet for a queue pair that does not exist. */
private fun packet(
    from: InetSocketAddress,
    to: InetAddress,
): ByteArray {
    val packet = Packet(0)
    packet.opcode = Opcode.RC_ACK
    packet.pkey = 0xffff
    packet.destinationQp = 2
    val buffer = Buffer()
    val length = PacketCodec.encode(packet, buffer.address)
    val (source, destination) = listOf(from.address, to).map { ByteBuffer.wrap(it.address).getInt() }
    val icrc = Icrc().ofV4(source, destination, Icrc.DONT_FRAGMENT, from.port, Icrc.UDP_PORT, buffer.address, length)
    Icrc.put(buffer.address + length, icrc)
    return buffer.bytes(length + Icrc.LENGTH)
}

private fun address(end: End): InetAddress = end.qp.endpoint().gid().toInetAddress()

private fun UdpPair.flood(content: (InetSocketAddress) -> ByteArray) {
    val target = address(far)
    val batch = WorkCompletions(1)
    strangers(address(near)).forEach { stranger ->
        DatagramChannel.open().use {
            it.bind(InetSocketAddress(stranger, 0))
            it.send(
                ByteBuffer.wrap(content(it.localAddress as InetSocketAddress)),
                InetSocketAddress(target, Icrc.UDP_PORT),
            )
        }
        far.cq.poll(batch)
    }
}

/** Returns the time of a write, in which both ends take part. The least median is the time without disturbance. */
private fun UdpPair.cost(): Long = (1..BLOCKS).minOf { median(WRITES, write) }

class StrangersSpec :
    FunSpec({
        val kinds =
            mapOf<String, UdpPair.(InetSocketAddress) -> ByteArray>(
                "datagrams of a byte" to { ByteArray(1) },
                "whole packets" to { packet(it, address(far)) },
            )
        for ((what, content) in kinds) {
            test("should write as fast as before after $STRANGERS strangers sent $what") {
                UdpPair().use { pair ->
                    repeat(5) { pair.cost() }
                    val before = pair.cost()
                    pair.flood { pair.content(it) }
                    var after = pair.cost()
                    repeat(TURNS) { if (after > 2 * before) after = minOf(after, pair.cost()) }
                    withClue("ns of a write before and after: $before, $after") {
                        after.toDouble() / before shouldBeLessThan
                            2.0
                    }
                }
            }
        }
    })
