package org.kverbs.acceptance.contract

import java.net.InetAddress
import java.nio.ByteBuffer

/** Makes an Ethernet frame with a payload. */
internal fun ethernet(
    destination: String,
    type: Int,
    payload: ByteArray = ByteArray(0),
    source: String = "02:00:00:00:00:99",
    vlan: Int? = null,
): ByteArray =
    bytesOf(18 + payload.size) {
        put(mac(destination)).put(mac(source))
        vlan?.let { putShort(0x8100.toShort()).putShort(it.toShort()) }
        putShort(type.toShort()).put(payload)
    }

private fun mac(text: String) = text.split(':').map { it.toInt(16).toByte() }.toByteArray()

/** Makes an IPv4 packet. */
internal fun ipv4(
    destination: String,
    protocol: Int,
    payload: ByteArray = ByteArray(0),
    source: String = "192.0.2.99",
    fragment: Int = 0,
    headerWords: Int = 5,
): ByteArray =
    bytesOf(headerWords.coerceAtLeast(5) * 4 + payload.size) {
        put((0x40 or headerWords).toByte()).put(0x1c).putShort((20 + payload.size).toShort())
        putShort(0).putShort(fragment.toShort())
        put(64).put(protocol.toByte()).putShort(0)
        put(quad(source)).put(quad(destination))
        position(headerWords.coerceAtLeast(5) * 4)
        put(payload)
    }

private fun quad(text: String) = text.split('.').map { it.toInt().toByte() }.toByteArray()

/** Makes a UDP datagram. */
internal fun udp(
    destinationPort: Int,
    payload: ByteArray = ByteArray(0),
    sourcePort: Int = 1234,
): ByteArray =
    bytesOf(8 + payload.size) {
        putShort(sourcePort.toShort()).putShort(destinationPort.toShort())
        putShort((8 + payload.size).toShort()).putShort(0)
        put(payload)
    }

/** Makes the header of a TCP segment. */
internal fun tcp(
    destinationPort: Int,
    payload: ByteArray = ByteArray(0),
    sourcePort: Int = 1234,
): ByteArray =
    bytesOf(20 + payload.size) {
        putShort(sourcePort.toShort()).putShort(destinationPort.toShort())
        putInt(1).putInt(0).putShort(0x5010).putShort(1000).putInt(0).put(payload)
    }

/** Makes an IPv6 packet. */
internal fun ipv6(
    destination: String,
    nextHeader: Int,
    payload: ByteArray,
    source: String,
): ByteArray =
    bytesOf(40 + payload.size) {
        putInt(0x60000000).putShort(payload.size.toShort()).put(nextHeader.toByte()).put(64)
        put(InetAddress.getByName(source).address).put(InetAddress.getByName(destination).address)
        put(payload)
    }

/** Makes a VXLAN header with the frame inside. */
internal fun vxlan(
    network: Int,
    frame: ByteArray,
): ByteArray = bytesOf(8 + frame.size) { putInt(0x08000000).putInt(network shl 8).put(frame) }

private fun bytesOf(
    room: Int,
    write: ByteBuffer.() -> Unit,
): ByteArray = ByteBuffer.allocate(room).apply(write).let { it.array().copyOf(it.position()) }
