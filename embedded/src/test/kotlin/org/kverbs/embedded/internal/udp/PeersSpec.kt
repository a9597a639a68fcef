package org.kverbs.embedded.internal.udp

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import java.net.InetAddress
import java.nio.ByteBuffer

private fun v4(number: Int): InetAddress = InetAddress.getByAddress(ByteBuffer.allocate(4).putInt(number).array())

/** The hash code of an IPv6 address is the sum of its four words. */
private fun ofOneHash(number: Int): InetAddress =
    InetAddress.getByAddress(
        ByteBuffer.allocate(16).putInt(0x20010db8).putInt(number).putInt(-number).putInt(1).array(),
    )

class PeersSpec :
    FunSpec({
        test(
            "should find no host before it is kept, and then the same object each time, by its address and by its GID",
        ) {
            val peers = Peers()
            val address = v4(0x0a000001)
            peers.known(address).shouldBeNull()
            val peer = Peer(address)
            peers.keep(peer)
            peers.known(address) shouldBeSameInstanceAs peer
            val same = peers.find(peer.gidHigh, peer.gidLow)
            same.address shouldBe peer.address
            peers.find(peer.gidHigh, peer.gidLow) shouldBeSameInstanceAs same
        }

        for ((what, address) in mapOf("IPv4" to ::v4, "IPv6 of one hash code" to ::ofOneHash)) {
            test("should keep a host that is asked for again and again, however many strangers come, of $what") {
                val peers = Peers()
                val friend = Peer(address(1))
                peers.keep(friend)
                val same = peers.find(friend.gidHigh, friend.gidLow)
                repeat(100_000) {
                    val stranger = Peer(address(it + 2))
                    peers.keep(stranger)
                    peers.find(stranger.gidHigh, stranger.gidLow)
                    peers.known(friend.address.address) shouldBeSameInstanceAs friend
                    peers.find(friend.gidHigh, friend.gidLow) shouldBeSameInstanceAs same
                }
                (2..100_001).count { peers.known(address(it)) != null } shouldBeLessThanOrEqual 4096
            }
        }
    })
