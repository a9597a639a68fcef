package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.ADDRESS_HANDLES
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.MULTICAST
import org.kverbs.acceptance.contract.Capability.MULTICAST_ROUTE
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairType.UD

private const val QKEY = ConnectOptions.DEFAULT_QKEY

/** The queue pair number of every multicast message. */
private const val MULTICAST_QPN = 0xffffff

/** Checks addresses, and messages without a connection. */
internal class DatagramSpec :
    ContractSpec({
        case("should answer a datagram by the address made from its completion", DATAGRAM) {
            val link = linked(UD)
            val (a, b) = link
            a.qp.postReceive(9, a.mr.slice())
            b.qp.postReceive(7, b.mr.slice())
            link.message { send(1).inline(pattern(20)).signaled() }
            a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
            val received = b.cq.takeOne()
            received.shouldBeDone(7, RECV, b.qp, bytes = GRH_BYTES + 20)
            received.hasGrh() shouldBe true
            received.sourceQueuePair() shouldBe a.qp.number()

            val sender = context.queryGid(PORT, context.defaultGidIndex(PORT))
            val route = pd.addressOf(PORT, received, b.mr.memory()).globalRoute().shouldNotBeNull()
            route.dgid() shouldBe sender
            val back = pd.addressHandle(PORT, received, b.mr.memory())
            b.post {
                sendWithImmediate(
                    2,
                    3,
                ).inline(pattern(30, seed = 2)).to(back, received.sourceQueuePair(), QKEY).signaled()
            }
            b.cq.takeOne().shouldBeDone(2, SEND, b.qp)
            a.cq.takeOne().shouldBeDone(9, RECV, a.qp, bytes = GRH_BYTES + 30, immediate = 3)
            a.mr.bytes(30, GRH_BYTES) shouldBe pattern(30, seed = 2)
        }

        case("should send as many bytes as the path MTU in a datagram, and none of a longer one", DATAGRAM) {
            val link = linked(UD)
            val (a, b) = link
            val mtu = context.queryPort(PORT).activeMtu().bytes()
            a.mr.put(pattern(mtu))
            b.qp.postReceive(7, b.mr.slice())
            link.message { send(1).from(a.mr.slice(0, mtu.toLong())).signaled() }
            b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = GRH_BYTES + mtu)
            b.mr.bytes(mtu, GRH_BYTES) shouldBe pattern(mtu)
            b.qp.postReceive(8, b.mr.slice())
            link.message { send(2).from(a.mr.slice(0, mtu + 1L)).signaled() }
            // IBA C10-93.1.1: no packet, and no error either.
            a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, SEND, a.qp) }
            b.cq.shouldStayEmpty()
        }

        case("should give a queue pair the datagram that it gathers for itself", DATAGRAM) {
            val end = end(UD)
            end.qp.activate(ConnectOptions.DEFAULTS)
            val self = end.qp.addressHandle(end.qp.endpoint(), ConnectOptions.DEFAULTS)
            end.mr.put(pattern(100), 8_192)
            end.qp.postReceive(7, end.mr.slice(0, 1_024))
            end.post {
                send(1)
                    .from(end.mr.slice(8_192, 60))
                    .from(end.mr.slice(8_252, 40))
                    .to(self, end.qp.number(), QKEY)
                    .signaled()
            }
            end.cq.take(2).map { it.workRequestId() }.toSet() shouldBe setOf(1L, 7L)
            end.mr.bytes(100, GRH_BYTES) shouldBe pattern(100)
        }

        case("should drop a datagram whose Q_Key is wrong, and one for which there is no receive", DATAGRAM) {
            val link = linked(UD)
            val (a, b) = link
            val address = a.qp.addressHandle(b.qp.endpoint(), ConnectOptions.DEFAULTS)
            link.message { send(1).inline(pattern(4)).signaled() }
            a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
            b.cq.shouldStayEmpty() // until it has arrived
            b.qp.postReceive(7, b.mr.slice())
            a.post { send(2).inline(pattern(4)).to(address, b.qp.number(), QKEY + 1).signaled() }
            a.cq.takeOne().shouldBeDone(2, SEND, a.qp)
            b.cq.shouldStayEmpty()
        }

        case(
            "should give a multicast message to each queue pair that is attached, until it is detached",
            MULTICAST_ROUTE,
        ) {
            val group = device.group
            val index = context.defaultGidIndex(PORT)
            val sender = end(UD)
            val members = List(2) { end(UD) }
            (members + sender).forEach { it.qp.activate(ConnectOptions.DEFAULTS) }
            members.forEach { it.qp.attachMulticast(group, 0) }
            members.forEach { it.qp.postReceive(7, it.mr.slice()) }
            val address = pd.addressHandle(AddressAttributes.toGid(group, index, PORT))
            sender.post { send(1).inline(pattern(25)).to(address, MULTICAST_QPN, QKEY).signaled() }
            sender.cq.takeOne().shouldBeDone(1, SEND, sender.qp)
            members.forEach {
                it.cq.takeOne().shouldBeDone(7, RECV, it.qp, bytes = GRH_BYTES + 25)
                it.mr.bytes(25, GRH_BYTES) shouldBe pattern(25)
            }

            val (left, stayed) = members
            left.qp.detachMulticast(group, 0)
            members.forEach { it.qp.postReceive(8, it.mr.slice()) }
            sender.post { send(2).inline(pattern(5)).to(address, MULTICAST_QPN, QKEY).signaled() }
            stayed.cq.takeOne().shouldBeDone(8, RECV, stayed.qp, bytes = GRH_BYTES + 5)
            left.cq.shouldStayEmpty()
            stayed.qp.detachMulticast(group, 0)
            shouldThrow<RdmaSystemException> { stayed.qp.detachMulticast(group, 0) }.operation() shouldBe
                "ibv_detach_mcast"
        }

        case("should refuse a datagram without an address before the device sees it", DATAGRAM) {
            val link = linked(UD)
            val (a, b) = link
            val address = a.qp.addressHandle(b.qp.endpoint(), ConnectOptions.DEFAULTS)
            val refusal =
                shouldThrow<WorkRequestException> {
                    a.qp.postWith {
                        it.send(1).inline(pattern(4)).to(address, b.qp.number(), QKEY)
                        it.read(2, b.mr.address(), 5).into(a.mr.slice(0, 4))
                        it.send(3).inline(pattern(4)).to(address, b.qp.number(), QKEY)
                    }
                }
            refusal.index() shouldBe 1
            refusal.message shouldContain "needs an address"
        }

        if (MULTICAST_ROUTE !in device.capabilities) {
            case(
                "should complete a multicast message without a route to its group",
                MULTICAST,
                DATAGRAM,
            ) {
                val (sender, member) = List(2) { end(UD).apply { qp.activate(ConnectOptions.DEFAULTS) } }
                member.qp.attachMulticast(device.group, 0)
                member.qp.postReceive(7, member.mr.slice())
                val index = context.defaultGidIndex(PORT)
                val address = pd.addressHandle(AddressAttributes.toGid(device.group, index, PORT))
                sender.post { send(1).inline(pattern(25)).to(address, MULTICAST_QPN, QKEY).signaled() }
                sender.cq.takeOne().shouldBeDone(1, SEND, sender.qp)
                member.cq.shouldStayEmpty()
            }
        }

        case("should refuse to attach to an address that is not a group", MULTICAST, DATAGRAM) {
            val end = end(UD)
            end.qp.activate(ConnectOptions.DEFAULTS)
            val refusal = shouldThrow<RdmaSystemException> { end.qp.attachMulticast(Gid.parse("10.0.0.1"), 0) }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.message shouldContain "multicast"
        }

        case(
            "should refuse an address without a global route on Ethernet, and one of an empty GID index",
            ADDRESS_HANDLES,
        ) {
            val bare = shouldThrow<RdmaSystemException> { pd.addressHandle(AddressAttributes.toLid(1, PORT)) }
            bare.errnoName() shouldBe "EINVAL"
            bare.message shouldContain "needs a GRH"
            val peer = context.queryGid(PORT, context.defaultGidIndex(PORT))
            val empty = shouldThrow<RdmaSystemException> { pd.addressHandle(AddressAttributes.toGid(peer, 99, PORT)) }
            empty.errnoName() shouldBe "ENODATA"
            empty.message shouldContain "The entry of the GID table is empty"
        }

        case("should make many address handles and destroy them in any order", ADDRESS_HANDLES) {
            val index = context.defaultGidIndex(PORT)
            val to = AddressAttributes.toGid(context.queryGid(PORT, index), index, PORT)
            val handles = List(20) { pd.addressHandle(to) }
            (handles.filterIndexed { i, _ -> i % 3 == 0 } + handles + handles.reversed()).forEach { it.close() }
            handles.none { it.isOpen } shouldBe true
            handles.all { it.attributes() == to } shouldBe true
        }

        case("should refuse to connect a datagram queue pair, and to activate another", DATAGRAM) {
            val end = end(UD)
            shouldThrow<IllegalStateException> { end.qp.connect(end.qp.endpoint()) }.message shouldContain "activate()"
            val connected = end()
            shouldThrow<IllegalStateException> { connected.qp.activate(ConnectOptions.DEFAULTS) }.message shouldContain
                "connect(endpoint)"
        }
    })
