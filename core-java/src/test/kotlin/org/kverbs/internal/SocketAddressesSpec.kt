package org.kverbs.internal

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.internal.abi.SockaddrIn
import org.kverbs.internal.abi.SockaddrIn6
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.net.Inet6Address
import java.net.InetAddress
import java.net.InetSocketAddress

class SocketAddressesSpec :
    FunSpec({
        test("should write an IPv4 address in network order") {
            Arena.ofConfined().use { arena ->
                val made = SocketAddresses.allocate(arena, InetSocketAddress("10.0.0.255", 0x1234))
                made.byteSize() shouldBe SockaddrIn.SIZE.toLong()
                made.asSlice(2, 6).toArray(JAVA_BYTE).toList() shouldBe listOf<Byte>(0x12, 0x34, 10, 0, 0, -1)
            }
        }

        val scoped =
            InetSocketAddress(Inet6Address.getByAddress(null, InetAddress.getByName("fe80::1").address, 3), 65_535)
        listOf(
            InetSocketAddress("10.0.0.255", 0),
            InetSocketAddress("0.0.0.0", 7471),
            InetSocketAddress("2001:db8::5", 443),
            scoped,
        ).forEach {
            test("should read back $it") {
                Arena.ofConfined().use { arena ->
                    val room = arena.allocate(SockaddrIn6.SIZE.toLong(), 4)
                    val made = SocketAddresses.allocate(arena, it)
                    room.asSlice(0, made.byteSize()).copyFrom(made)
                    SocketAddresses.read(room) shouldBe it
                }
            }
        }

        test("should read no address where there is none, or one of another family") {
            Arena.ofConfined().use { arena ->
                val room = arena.allocate(SockaddrIn6.SIZE.toLong(), 4)
                SocketAddresses.read(room).shouldBeNull()
                room.set(JAVA_BYTE, 0, 27) // AF_IB
                SocketAddresses.read(room).shouldBeNull()
            }
        }

        test("should refuse a name that has no address") {
            Arena.ofConfined().use { arena ->
                shouldThrow<IllegalArgumentException> {
                    SocketAddresses.allocate(arena, InetSocketAddress.createUnresolved("no.such", 1))
                }.message shouldStartWith "the host name of no.such"
            }
        }

        test("should print the address and never the host's name") {
            SocketAddresses.format(
                InetSocketAddress(InetAddress.getByAddress("a.name", byteArrayOf(10, 0, 0, 1)), 5),
            ) shouldBe
                "10.0.0.1:5"
            SocketAddresses.format(InetSocketAddress("2001:db8::5", 443)) shouldBe "[2001:db8:0:0:0:0:0:5]:443"
            SocketAddresses.format(InetSocketAddress.createUnresolved("no.such", 1)) shouldBe "no.such:1"
        }
    })
