package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.FlowAttributesBuilder
import org.kverbs.FlowCounters
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.FLOW_COUNTERS
import org.kverbs.acceptance.contract.Capability.FLOW_STEERING
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.FlowCounter
import org.kverbs.attributes.FlowType
import org.kverbs.attributes.MacAddress
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.dsl.destination
import org.kverbs.dsl.ethernet
import org.kverbs.dsl.flow
import org.kverbs.dsl.flowCounters
import org.kverbs.dsl.ipv4
import org.kverbs.dsl.ipv6
import org.kverbs.dsl.tcp
import org.kverbs.dsl.udp
import org.kverbs.dsl.vxlan

private const val MINE = "02:00:00:00:00:01"
private const val OTHER = "02:00:00:00:00:02"
private const val IPV4 = 0x0800
private const val IPV6 = 0x86dd
private const val TCP = 6
private const val UDP = 17

/** Checks raw packet queue pairs, and the rules by which they receive frames. */
internal class FlowSpec :
    ContractSpec({
        case("should count the packets and bytes of a rule, in the order of the block", FLOW_STEERING, FLOW_COUNTERS) {
            val (sender, receiver) = frameEnds(2)
            val counters = context.flowCounters { count(FlowCounter.BYTES, FlowCounter.PACKETS) }
            receiver.qp.flow {
                ethernet { destination(MINE) }
                count(counters)
            }
            receiver.receive(1)
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            receiver.cq.takeOne().isSuccess shouldBe true
            val (bytes, packets) = counters.read(2).toList()
            (bytes >= 60) shouldBe true
            packets shouldBe 1
        }

        case("should give a frame to the queue pair whose rule matches, and none before there is one", FLOW_STEERING) {
            val (sender, receiver) = frameEnds(2)
            receiver.receive(1)
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            receiver.cq.shouldStayEmpty()
            receiver.qp.flow { ethernet { destination(MINE) } }
            sender.transmit(ethernet(OTHER, 0x88b5, pattern(60)))
            receiver.cq.shouldStayEmpty()
            val frame = ethernet(MINE, 0x88b5, pattern(60))
            sender.transmit(frame)
            receiver.cq.takeOne().shouldBeDone(1, RECV, receiver.qp, bytes = frame.size.toLong())
            receiver.mr.bytes(frame.size) shouldBe frame
        }

        case("should not give a frame after the rule was closed", FLOW_STEERING) {
            val (sender, receiver) = frameEnds(2)
            val flow = receiver.qp.flow { ethernet { destination(MINE) } }
            receiver.receive(1)
            flow.close()
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            receiver.cq.shouldStayEmpty()
        }

        case("should compare each header that a rule names, and not the others", FLOW_STEERING) {
            val datagram = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53, pattern(20))))
            val newer = ethernet(MINE, IPV6, ipv6("2001:db8::7", TCP, tcp(80), "2001:db8:1::9"))
            val tagged = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53)), vlan = 7)
            val inner = ethernet(OTHER, IPV4, ipv4("10.0.0.1", UDP, udp(99)))
            val tunnel = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(4789, vxlan(5, inner))))
            val rules =
                listOf(
                    Case("any frame", datagram) { },
                    Case("bits of an address", datagram) {
                        ethernet { destination(MacAddress.parse(MINE), MacAddress.parse("ff:ff:ff:00:00:00")) }
                    },
                    Case("source", datagram) { ethernet { source(MacAddress.parse("02:00:00:00:00:99")) } },
                    Case("type", datagram) { ethernet { etherType(IPV4) } },
                    Case("type behind a tag", tagged) { ethernet { etherType(IPV4).vlan(7) } },
                    Case("IPv4", datagram) { ipv4() },
                    Case("network", datagram) { ipv4 { destination("198.51.100.0/24").source("192.0.2.99") } },
                    Case("protocol", datagram) { ipv4 { protocol(UDP).timeToLive(64).typeOfService(0x1c) } },
                    Case("port", datagram) {
                        ethernet { destination(MINE) }
                        ipv4 { destination("198.51.100.7") }
                        udp { destinationPort(53).sourcePort(1234) }
                    },
                    Case("bits of a port", datagram) { udp { destinationPort(0x30, 0xfff0) } },
                    Case("IPv6", newer) { ipv6() },
                    Case("IPv6 network", newer) { ipv6 { destination("2001:db8::/48").source("2001:db8:1::9") } },
                    Case("TCP port", newer) {
                        ethernet { destination(MINE) }
                        ipv6 { destination("2001:db8::7") }
                        tcp { destinationPort(80).sourcePort(1234) }
                    },
                    Case("TCP port of IPv4", ethernet(MINE, IPV4, ipv4("198.51.100.7", TCP, tcp(80)))) {
                        ipv4()
                        tcp { destinationPort(80) }
                    },
                    Case("tunnel", tunnel) { vxlan { network(5) } },
                    Case("inside of a tunnel", tunnel) {
                        vxlan()
                        ethernet { inner().destination(OTHER) }
                        ipv4 { inner().destination("10.0.0.1") }
                        udp { inner().destinationPort(99) }
                    },
                )
            for (each in rules) {
                withClue(each.name) { received(each.frame, each.rule) shouldBe true }
            }
            val misses =
                listOf(
                    Case("another network", datagram) { ipv4 { destination("198.51.101.0/24") } },
                    Case("another port", datagram) { udp { destinationPort(54) } },
                    Case("another IPv6 network", newer) { ipv6 { destination("2001:db8:2::/48") } },
                    Case("another IPv6 source", newer) { ipv6 { source("2001:db8:1::8") } },
                    Case("another TCP port", newer) { tcp { destinationPort(81) } },
                    Case("UDP in place of TCP", newer) { udp { destinationPort(80) } },
                    Case("another layer 4", datagram) { tcp() },
                    Case("another layer 3", datagram) { ipv6() },
                    Case("a VLAN that is not there", datagram) { ethernet { vlan(0) } },
                    Case("another VLAN", tagged) { ethernet { vlan(8) } },
                    Case("another tunnel", tunnel) { vxlan { network(6) } },
                    Case("the outer header instead of the inner", tunnel) {
                        ethernet { inner().destination(MINE) }
                    },
                )
            for (each in misses) {
                withClue(each.name) { received(each.frame, each.rule) shouldBe false }
            }
        }

        case("should read no header of a frame that ends within it, or that lies about lengths", FLOW_STEERING) {
            val whole = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53)))
            for (length in 14 until whole.size) {
                withClue("$length bytes") {
                    received(whole.copyOf(length)) { udp { destinationPort(53) } } shouldBe false
                }
            }
            val hostile =
                listOf(
                    "a header of 60 bytes" to ipv4("198.51.100.7", UDP, udp(53), headerWords = 15).copyOf(40),
                    "a header of 0 bytes" to ipv4("198.51.100.7", UDP, udp(53), headerWords = 0),
                    "a later fragment" to ipv4("198.51.100.7", UDP, udp(53), fragment = 9),
                )
            for ((name, packet) in hostile) {
                withClue(name) { received(ethernet(MINE, IPV4, packet)) { udp { destinationPort(53) } } shouldBe false }
                withClue("$name, taken for any frame") { received(ethernet(MINE, IPV4, packet)) { } shouldBe true }
            }
            val endless = ethernet(MINE, 0x86dd, ByteArray(400).also { it[0] = 0x60 })
            withClue("IPv6 of nothing but extension headers") { received(endless) { udp() } shouldBe false }
            val tags = ethernet(MINE, 0x8100, ByteArray(200) { if (it % 4 == 2) 0x81.toByte() else 0 })
            withClue("nothing but VLAN tags") { received(tags) { ipv4() } shouldBe false }
        }

        case("should ask rules of a lower priority number first, and give the rest to the default", FLOW_STEERING) {
            val (sender, first, second, rest) = frameEnds(4)
            listOf(first, second, rest).forEach { it.receive(1, 2, 3) }
            first.qp.flow {
                priority(1)
                udp { destinationPort(53) }
            }
            second.qp.flow {
                priority(2)
                ipv4()
            }
            rest.qp.flow { type(FlowType.ALL_DEFAULT) }
            sender.transmit(ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53))))
            sender.transmit(ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(54))))
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            listOf(first, second, rest).forEach { it.cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS }
            sender.transmit(ethernet("01:00:5e:00:00:01", 0x88b5, pattern(60)))
            rest.cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS
        }

        case("should give multicast frames that no rule takes to the multicast default alone", FLOW_STEERING) {
            val (sender, receiver) = frameEnds(2)
            receiver.receive(1)
            receiver.qp.flow { type(FlowType.MULTICAST_DEFAULT) }
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            receiver.cq.shouldStayEmpty()
            sender.transmit(ethernet("01:00:5e:00:00:01", 0x88b5, pattern(60)))
            receiver.cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS
        }

        case("should give a copy to a sniffer and to each rule that is passed, once a queue pair", FLOW_STEERING) {
            val (sender, owner, passed, sniffer) = frameEnds(4)
            listOf(owner, passed, sniffer).forEach { it.receive(1, 2) }
            owner.qp.flow {
                priority(5)
                ethernet { destination(MINE) }
            }
            passed.qp.flow {
                dontTrap()
                ethernet { destination(MINE) }
            }
            sniffer.qp.flow { type(FlowType.SNIFFER) }
            sniffer.qp.flow { type(FlowType.ALL_DEFAULT) }
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            listOf(owner, passed, sniffer).forEach { it.cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS }
            sender.transmit(ethernet(OTHER, 0x88b5, pattern(60)))
            sniffer.cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS
            sniffer.cq.shouldStayEmpty()
        }

        case("should not give a frame back to the queue pair that sent it", FLOW_STEERING) {
            val (sender) = frameEnds(1)
            sender.receive(1)
            sender.qp.flow { }
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
            sender.cq.shouldStayEmpty()
        }

        case("should count the frames and bytes of the rules that use counters", FLOW_COUNTERS) {
            val (sender, receiver) = frameEnds(2)
            val counters = context.flowCounters().attach(FlowCounter.BYTES, 0).attach(FlowCounter.PACKETS, 2)
            counters.read(3) shouldBe longArrayOf(0, 0, 0)
            receiver.receive(1)
            receiver.qp.flow {
                ethernet { destination(MINE) }
                count(counters)
            }
            receiver.qp.flow {
                ethernet { destination(OTHER) }
                drop().count(counters)
            }
            val frame = ethernet(MINE, 0x88b5, pattern(60))
            sender.transmit(frame)
            receiver.cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS
            sender.transmit(ethernet(OTHER, 0x88b5, pattern(60)))
            receiver.cq.shouldStayEmpty()
            counters.read(3) shouldBe longArrayOf(2L * frame.size, 0, 2)
            counters.readCached(3) shouldBe longArrayOf(2L * frame.size, 0, 2)
            refusalOf("EINVAL") { counters.read(2) } shouldContain "highest attached index"
            refusalOf("EBUSY") { counters.attach(FlowCounter.BYTES, 1) } shouldContain "before the first rule"
        }

        case("should close rules before their queue pair and their counters", FLOW_COUNTERS) {
            val (sender, receiver) = frameEnds(2)

            fun counted(counters: FlowCounters) = receiver.qp.flow { count(counters) }
            val counters = context.flowCounters()
            val first = counted(counters)
            counters.close()
            first.isOpen shouldBe false
            shouldThrow<IllegalStateException> { counted(counters) }.message shouldContain "is closed"
            val second = receiver.qp.flow { }
            receiver.qp.close()
            second.isOpen shouldBe false
            sender.transmit(ethernet(MINE, 0x88b5, pattern(60)))
        }

        case("should refuse a rule on a connected queue pair, and one of another port", FLOW_STEERING) {
            refusalOf("EINVAL") { queuePair().flow { } } shouldContain "type RAW_PACKET"
            refusalOf("EINVAL") { queuePair(RAW_PACKET).flow { port(2) } } shouldContain "the port"
            refusalOf("EINVAL") {
                queuePair(RAW_PACKET).flow {
                    ipv4()
                    ipv6()
                }
            } shouldContain "No frame has both: IPV6"
        }

        case("should send frames of 14 to 4218 bytes, and fail others", FLOW_STEERING) {
            val (sender, receiver) = frameEnds(2)
            receiver.qp.flow { }
            for (size in listOf(14, 4218)) {
                receiver.receive(1)
                sender.transmit(pattern(size))
                receiver.cq.takeOne().shouldBeDone(1, RECV, receiver.qp, bytes = size.toLong())
                receiver.mr.bytes(size) shouldBe pattern(size)
            }
            for (size in listOf(13, 4219)) {
                val (broken) = frameEnds(1)
                broken.post { send(5).from(broken.mr.slice(0, size.toLong())).signaled() }
                broken.cq.takeOne().shouldHaveFailed(5, WorkCompletionStatus.LOC_LEN_ERR, broken.qp)
            }
        }

        case("should lose a frame without a receive, and fail a receive that is too short but go on", FLOW_STEERING) {
            val (sender, receiver) = frameEnds(2)
            receiver.qp.flow { }
            sender.transmit(pattern(100))
            receiver.cq.shouldStayEmpty()
            receiver.qp.postReceive(1, receiver.mr.slice(0, 99))
            sender.transmit(pattern(100))
            receiver.cq.takeOne().shouldHaveFailed(1, WorkCompletionStatus.LOC_LEN_ERR, receiver.qp)
            receiver.receive(2)
            sender.transmit(pattern(100))
            receiver.cq.takeOne().shouldBeDone(2, RECV, receiver.qp, bytes = 100)
        }

        case("should have no other operation than send, and the short way to its states", FLOW_STEERING) {
            val end = end(RAW_PACKET)
            shouldThrow<IllegalStateException> { end.qp.connect(end.qp.endpoint()) }.message shouldContain "activate()"
            shouldThrow<RdmaSystemException> {
                end.qp.modify(QueuePairAttributes.builder().state(QueuePairState.INIT).build())
            }.message shouldContain "lacks required attributes: PORT"
            end.qp.activate(ConnectOptions.DEFAULTS)
            end.qp.state() shouldBe QueuePairState.RTS
            shouldThrow<WorkRequestException> {
                end.post { sendWithImmediate(1, 2).from(end.mr.slice(0, 64)) }
            }.errnoName() shouldBe "EINVAL"
        }
    })

/** A frame and a rule. */
private class Case(
    val name: String,
    val frame: ByteArray,
    val rule: FlowAttributesBuilder.() -> Unit,
)

/** Makes raw packet queue pairs in RTS. */
private fun Bench.frameEnds(count: Int): List<End> =
    List(count) { end(RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) } }

private fun End.receive(vararg ids: Long) = ids.forEach { qp.postReceive(it, mr.slice(0, 8_192)) }

/** Returns whether a queue pair receives a frame by a rule. */
private fun Bench.received(
    frame: ByteArray,
    rule: FlowAttributesBuilder.() -> Unit,
): Boolean {
    val (sender, receiver, rest) = frameEnds(3)
    listOf(receiver, rest).forEach { it.receive(1) }
    receiver.qp.flow(rule)
    rest.qp.flow { type(FlowType.ALL_DEFAULT) }
    sender.transmit(frame)
    var matched = 0
    await("the frame, at one of them") {
        matched += receiver.cq.poll({ }, 1)
        matched + rest.cq.poll({ }, 1) > 0
    }
    listOf(sender, receiver, rest).forEach {
        it.qp.close()
        it.cq.close()
        it.mr.close()
    }
    return matched == 1
}

internal fun refusalOf(
    errno: String,
    call: () -> Unit,
): String {
    val refusal = shouldThrow<RdmaSystemException> { call() }
    refusal.errnoName() shouldBe errno
    return refusal.message.orEmpty()
}
