package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.Kind.COUNTERS
import org.kverbs.NullVerbs.Kind.FLOW
import org.kverbs.NullVerbs.Kind.QP
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.EthernetMatch
import org.kverbs.attributes.FlowCounter
import org.kverbs.attributes.FlowMatch
import org.kverbs.attributes.FlowType
import org.kverbs.attributes.Ipv4Match
import org.kverbs.attributes.Ipv6Match
import org.kverbs.attributes.MacAddress
import org.kverbs.attributes.PortMatch
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.VxlanMatch

/** Checks that C reads of a flow rule what was asked for, and the life of rules and counters. */
internal class FlowSpec :
    FunSpec({
        onNullDevice()

        /** Returns what C reads of the matches of a rule. */
        fun read(vararg matches: FlowMatch): List<String> =
            NullBench().use { bench ->
                val rule = FlowAttributes.builder().apply { matches.forEach { match(it) } }.build()
                bench.queuePair(RAW_PACKET).flow(rule)
                NullVerbs.flow().split("; ").drop(1)
            }

        test("should write a rule as C reads it") {
            NullBench().use { bench ->
                val counters = bench.context.flowCounters()
                val rule =
                    FlowAttributes
                        .builder()
                        .priority(65_535)
                        .port(3)
                        .dontTrap()
                        .match(PortMatch.tcp())
                        .drop()
                        .count(counters)
                        .build()
                bench.queuePair(RAW_PACKET).flow(rule)
                NullVerbs.flow() shouldBe
                    "type=0 size=60 priority=65535 port=3 flags=2; 0x40 size=16 dst=0/0000 src=0/0000; " +
                    "0x1001 size=8; 0x1003 size=16 the counters; 0 bytes left"
            }
        }

        test("should write each field of each header, in the order of the wire, with its mask") {
            read(
                EthernetMatch()
                    .destination(MacAddress.parse("02:00:5e:10:00:01"))
                    .source(MacAddress.parse("06:01:02:03:04:05"), MacAddress.parse("ff:ff:00:00:00:00"))
                    .etherType(0x0800)
                    .vlan(7),
                Ipv4Match().source("192.0.2.77/24").destination("198.51.100.7"),
                PortMatch.udp().destinationPort(4791).sourcePort(0x1200, 0xff00),
                VxlanMatch().network(5),
                Ipv4Match().inner().protocol(17).typeOfService(28).timeToLive(64).destination("10.0.0.0/8"),
                PortMatch.tcp().inner().destinationPort(80),
            ) shouldBe
                listOf(
                    "0x20 size=40 dst=02005e100001 /=ffffffffffff src=060100000000 /=ffff00000000 " +
                        "type=0800/ffff vlan=7/fff",
                    "0x30 size=24 src=c0000200/ffffff00 dst=c6336407/ffffffff",
                    "0x41 size=16 dst=4791/ffff src=4608/ff00",
                    "0x50 size=16 id=5/ffffffff",
                    "0x132 size=32 dst=0a000000/ff000000 proto=17/255 tos=28/255 ttl=64/255 flags=0/0",
                    "0x140 size=16 dst=80/ffff src=0/0000",
                    "0 bytes left",
                )
            read(
                Ipv6Match()
                    .source("2001:db8::1")
                    .flowLabel(0x12345)
                    .nextHeader(6)
                    .trafficClass(3)
                    .hopLimit(9),
            ) shouldBe
                listOf(
                    "0x31 size=88 src=20..01/ff..ff label=12345/fffff next=6/255 class=3/255 hops=9/255",
                    "0 bytes left",
                )
        }

        test("should not change a rule by a later change of its matches") {
            val match = PortMatch.udp().destinationPort(1)
            val rule = FlowAttributes.builder().match(match).build()
            match.destinationPort(2).inner()
            rule.toString() shouldBe "NORMAL, priority=0, port=1, [udp(destinationPort=1)]"
        }

        test("should attach counters and read them, from the hardware or a cache") {
            NullBench().use { bench ->
                val counters = bench.context.flowCounters()
                counters.attach(FlowCounter.BYTES, 0).attach(FlowCounter.PACKETS, 2)
                counters.read(3) shouldBe longArrayOf(200, 0, 100)
                counters.readCached(1) shouldBe longArrayOf(1200)
                val refusal = shouldThrow<UnsupportedVerbException> { counters.attach(FlowCounter.BYTES, 32) }
                refusal.message shouldContain "ibv_attach_counters_point_flow(null0, BYTES, index=32)"
                shouldThrow<IllegalArgumentException> { counters.attach(FlowCounter.BYTES, -1) }
                shouldThrow<IllegalArgumentException> { counters.read(0) }
            }
        }

        test("should destroy rules before their queue pair and their counters") {
            NullBench().use { bench ->
                val counters = bench.context.flowCounters()
                val qp = bench.queuePair(RAW_PACKET)
                val counted = qp.flow(FlowAttributes.builder().count(counters).build())
                val other = qp.flow(FlowAttributes.builder().build())
                counters.close()
                counted.isOpen shouldBe false
                NullVerbs.live(FLOW) shouldBe 1
                NullVerbs.live(COUNTERS) shouldBe 0
                qp.close()
                other.isOpen shouldBe false
                NullVerbs.live(FLOW) shouldBe 0
                NullVerbs.live(QP) shouldBe 0
            }
        }

        test("should name the device and the verb where the library has no flow rules") {
            NullBench(extended = false).use { bench ->
                val refusal =
                    shouldThrow<UnsupportedVerbException> {
                        bench.queuePair(RAW_PACKET).flow(FlowAttributes.builder().build())
                    }
                refusal.device() shouldBe "null0"
                refusal.operation() shouldBe "ibv_create_flow"
                shouldThrow<UnsupportedVerbException> { bench.context.flowCounters() }.operation() shouldBe
                    "ibv_create_counters"
                NullVerbs.live(FLOW) shouldBe 0
            }
        }

        test("should refuse what no rule can have, and name it") {
            fun refusal(call: () -> Any) = shouldThrow<IllegalArgumentException> { call() }.message
            refusal { PortMatch.udp().destinationPort(65_536) } shouldContain "destinationPort"
            refusal { EthernetMatch().etherType(-1) } shouldContain "etherType"
            refusal { Ipv4Match().source("2001:db8::1") } shouldContain "2001:db8::1 is no address of ipv4"
            refusal { Ipv4Match().source("10.0.0.0/33") } shouldContain "prefix length of 10.0.0.0/33"
            refusal { Ipv6Match().flowLabel(0x100000) } shouldContain "flowLabel"
            refusal { EthernetMatch().vlan(0x1000) } shouldContain "vlan"
            refusal { VxlanMatch().network(1 shl 24) } shouldContain "network"
            refusal { MacAddress.parse("02:00:00:00:00") } shouldContain "is no MAC address"
            refusal { MacAddress.parse("x") } shouldContain "'x' is no MAC address"
            refusal { FlowAttributes.builder().priority(65_536).build() } shouldContain "priority"
            refusal { FlowAttributes.builder().type(FlowType.SNIFFER).match(PortMatch.udp()).build() } shouldContain
                "a flow rule of type SNIFFER has no matches [udp()]"
            refusal { FlowAttributes.builder().type(FlowType.ALL_DEFAULT).dontTrap().build() } shouldContain
                "has no dontTrap"
        }

        test("should refuse counters of another open device") {
            NullBench().use { one ->
                NullBench().use { other ->
                    val counters = other.context.flowCounters()
                    val rule = FlowAttributes.builder().count(counters).build()
                    shouldThrow<IllegalArgumentException> { one.queuePair(RAW_PACKET).flow(rule) }.message shouldContain
                        "flow counters on null0 belong to another open device"
                }
            }
        }
    })
