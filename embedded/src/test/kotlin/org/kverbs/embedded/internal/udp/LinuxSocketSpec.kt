package org.kverbs.embedded.internal.udp

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.throwables.shouldThrowExactly
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.Errno
import java.io.File
import java.io.IOException
import java.net.BindException
import java.net.Inet6Address
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.NetworkInterface
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

private fun address(host: Int) = InetAddress.ofLiteral("127.82.${Random.nextInt(1, 250)}.$host")

private fun open(
    address: InetAddress,
    port: Int = 4791,
) = LinuxSocket(address.address.size == 4, InetSocketAddress(address, port), PortSockets.BUFFER, PortSockets.BUFFER)

private fun Room.fill(length: Int) = Random(1).nextBytes(length).also { bytes.clear().put(it) }

/** Takes the next datagram, for ten seconds at most. */
private suspend fun UdpSocket.next(): Datagram {
    val into = Datagram(Room(Datagram.MOST))
    eventually(10.seconds) { receive(into) shouldBe true }
    return into
}

private fun Datagram.contents() = ByteArray(length).also { room.bytes.clear().get(offset, it) }

private fun descriptors() = File("/proc/self/fd").list()!!.size

/** Checks the sockets of Linux on the loopback network. */
class LinuxSocketSpec :
    FunSpec({
        test("should cut packets apart for a socket that takes one at a time") {
            val (from, to) = listOf(address(1), address(2))
            DatagramChannel.open().bind(InetSocketAddress(to, 4791)).use { receiver ->
                open(from, 0xc001).use { sender ->
                    for ((length, packet) in listOf(100 to 10, 105 to 10, 64 * 20 to 20, 65_000 to 4096, 7 to 7)) {
                        val room = Room(Datagram.MOST)
                        val sent = room.fill(length)
                        sender.send(Peer(to), 0, 0, room, 0, length, packet) shouldBe 0
                        val parts =
                            List((length + packet - 1) / packet) {
                                val bytes = ByteBuffer.allocate(Datagram.MOST)
                                receiver.receive(bytes) shouldBe InetSocketAddress(from, 0xc001)
                                bytes.array().copyOf(bytes.position()).toList()
                            }
                        parts shouldBe sent.toList().chunked(packet)
                    }
                }
            }
        }

        for ((from, to) in listOf(address(1) to address(2), "::1".let(InetAddress::ofLiteral).let { it to it })) {
            test("should show packets that arrive together, their size, sender and traffic class: ${from.javaClass}") {
                open(to).use { receiver ->
                    open(from, 0xc001).use { sender ->
                        for ((length, packet, traffic) in listOf(
                            Triple(105, 10, 0x63),
                            Triple(65_000, 4096, 0),
                            Triple(64, 64, 1),
                            Triple(64 * 20, 20, 0xff),
                        )) {
                            val room = Room(Datagram.MOST)
                            val sent = room.fill(length)
                            sender.send(Peer(to), traffic, 0, room, 0, length, packet) shouldBe 0
                            val got = receiver.next()
                            got.contents() shouldBe sent
                            got.packet shouldBe packet
                            got.trafficClass shouldBe traffic
                            got.sourcePort shouldBe 0xc001
                            val source = Peer(from)
                            (got.sourceHigh to got.sourceLow) shouldBe (source.gidHigh to source.gidLow)
                        }
                    }
                }
            }
        }

        test("should take a group's packets only from the interfaces where the socket itself joined") {
            val (group, from) = listOf(InetAddress.ofLiteral("239.82.${Random.nextInt(1, 250)}.1"), address(1))
            val loopback = PortSockets.networkInterface(from)!!
            open(group).use { other ->
                open(group).use { member ->
                    open(from, 0xc001).use { sender ->
                        member.join(group, loopback)
                        sender.setMulticastInterface(loopback)
                        sender.send(Peer(group), 0, 1, Room(64), 0, 64, 64) shouldBe 0
                        member.next().length shouldBe 64
                        other.receive(Datagram(Room(Datagram.MOST))) shouldBe false
                    }
                }
            }
        }

        val wired =
            NetworkInterface
                .networkInterfaces()
                .toList()
                .filter { it.isUp && it.supportsMulticast() }
                .flatMap { network ->
                    network.inetAddresses.toList().filterIsInstance<Inet6Address>().map {
                        network to
                            it
                    }
                }.distinctBy { it.first }
        for ((network, from) in wired) {
            if (network.isLoopback) continue
            test("should take an IPv6 group's packets only where the socket itself joined: ${network.name}") {
                val group = InetAddress.ofLiteral("ff15::82:${Random.nextInt(1, 9999)}")
                val loopback = NetworkInterface.getByInetAddress(InetAddress.getLoopbackAddress())

                fun at(where: NetworkInterface) = Inet6Address.getByAddress(null, group.address, where.index)
                open(at(loopback)).use { other ->
                    open(at(network)).use { member ->
                        open(from, 0xc001).use { sender ->
                            other.join(group, loopback)
                            member.join(group, network)
                            sender.setMulticastInterface(network)
                            sender.send(Peer(group), 0, 1, Room(64), 0, 64, 64) shouldBe 0
                            member.next().length shouldBe 64
                            other.receive(Datagram(Room(Datagram.MOST))) shouldBe false
                        }
                    }
                }
            }
        }

        test("should bind a link-local address without a scope at the interface that has it") {
            val local =
                NetworkInterface.networkInterfaces().toList().flatMap { it.inetAddresses.toList() }.filter {
                    it is Inet6Address && it.isLinkLocalAddress
                }
            local.forEach { open(InetAddress.getByAddress(it.address)).close() }
            shouldThrow<BindException> { open(InetAddress.ofLiteral("fe80::dead:1")) }
        }

        test("should not take each failure to bind for an address in use") {
            val nowhere = Inet6Address.getByAddress(null, InetAddress.ofLiteral("fe80::dead:1").address, 999_999)
            shouldThrowExactly<IOException> { open(nowhere) }.message shouldBe "bind failed: errno 19"
            val taken = address(1)
            open(taken).use { shouldThrow<BindException> { open(taken) } }
            shouldThrow<BindException> { open(InetAddress.ofLiteral("192.0.2.1")) }
        }

        test("should refuse more packets or bytes than the system takes in a call") {
            val (from, to) = listOf(address(1), address(2))
            open(from).use { sender ->
                val room = Room(1 shl 17)
                sender.send(Peer(to), 0, 0, room, 0, 65_508, 4096) shouldBe -Errno.EMSGSIZE
                sender.send(Peer(to), 0, 0, room, 0, 200, 1) shouldBe -Errno.EINVAL
            }
        }

        test("should end a wait when the waiter is closed, at once and for later waits") {
            val waiter = LinuxWaiter()
            open(address(1)).use { socket ->
                waiter.add(socket)
                val woken = CountDownLatch(1)
                val waiting =
                    thread {
                        while (waiter.isOpen) waiter.await()
                        woken.countDown()
                    }
                eventually(10.seconds) { waiting.stackTrace.any { it.methodName == "epollWait" } shouldBe true }
                socket.close()
                waiter.close()
                woken.await(20, TimeUnit.SECONDS) shouldBe true
                waiter.await() shouldBe false
                waiter.close()
            }
        }

        test("should report that it cannot wait, rather than return at once again and again") {
            val waiter = LinuxWaiter()
            val field = LinuxWaiter::class.java.getDeclaredField("epoll").apply { isAccessible = true }
            val epoll = field.get(waiter) as Descriptor
            field.set(waiter, Descriptor(waiter, -1))
            shouldThrow<IOException> { waiter.await() }.message shouldBe "epoll_wait failed: errno 9"
            waiter.close()
            waiter.await() shouldBe false
            epoll.close()
        }

        test("should use no descriptor after it was closed, though another socket has its number then") {
            val from = address(1)
            val targets = List(8) { address(10 + it) }
            val closed = open(address(2))
            val number = closed.number()
            closed.close()
            closed.close()
            val others = targets.map { open(it) }
            try {
                others.map { it.number() }.contains(number) shouldBe true
                open(from, 0xc001).use { sender ->
                    val room = Room(64)
                    targets.forEach { sender.send(Peer(it), 0, 0, room, 0, 64, 64) shouldBe 0 }
                    closed.receive(Datagram(Room(Datagram.MOST))) shouldBe false
                    closed.send(Peer(from), 0, 0, room, 0, 64, 64) shouldBe -Errno.EBADF
                    others.forEach { it.next().length shouldBe 64 }
                }
            } finally {
                others.forEach { it.close() }
            }
        }

        test("should survive a storm of openings and closings while others send, receive and wait") {
            val addresses = List(4) { address(20 + it) }
            val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2)
            val before = descriptors()
            val shared = AtomicReference(addresses.map { open(it) })
            val failures = mutableListOf<Throwable>()
            val threads =
                List(4) { index ->
                    thread {
                        try {
                            val into = Datagram(Room(Datagram.MOST))
                            val room = Room(64)
                            val own = Peer(addresses[index])
                            while (System.nanoTime() < end) {
                                val socket = shared.get()[index]
                                if (socket.receive(into)) check(into.sourceLow == own.gidLow) { "a stranger" }
                                socket.send(own, 0, 0, room, 0, 64, 64)
                            }
                        } catch (e: Throwable) {
                            synchronized(failures) { failures += e }
                        }
                    }
                }
            while (System.nanoTime() < end) {
                shared.get().forEach { it.close() }
                val waiter = LinuxWaiter()
                shared.set(addresses.map { open(it) })
                shared.get().forEach(waiter::add)
                val waiting = thread { waiter.await() }
                waiter.close()
                waiting.join()
            }
            threads.forEach { it.join() }
            shared.get().forEach { it.close() }
            failures shouldBe emptyList()
            descriptors() shouldBeLessThan before + 20
        }

        test("should give descriptors back that were forgotten") {
            val at = address(2)

            fun forget() = repeat(50) { open(at, 0xb300 + it) }
            forget()
            eventually(20.seconds) {
                System.gc()
                repeat(50) { open(at, 0xb300 + it).close() }
            }
        }
    })
