package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.Ece
import org.kverbs.attributes.EthernetAddress
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.MacAddress
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.RateLimit

/** Tests the small verbs that few drivers have, on null0. */
class TuningSpec :
    FunSpec({
        onNullDevice()

        test("should make thread domains and parent domains, and destroy what was made in them first") {
            NullBench().use { bench ->
                val threads = bench.context.threadDomain()
                val domain = bench.pd.parentDomain(threads)
                val qp = domain.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, bench.cq))
                NullVerbs.live(NullVerbs.Kind.TD) shouldBe 1
                NullVerbs.live(NullVerbs.Kind.PD) shouldBe 2
                val order = listOf(qp.handle(), domain.handle(), threads.handle())
                threads.close()
                NullVerbs.destroyed() shouldContainExactly order
                listOf(qp, domain, threads, bench.pd).map { it.isOpen } shouldBe listOf(false, false, false, true)
                shouldThrow<IllegalStateException> { domain.memoryRegion(8) }.message shouldContain
                    "parent domain on null0 is closed"
            }
        }

        test("should keep a thread domain that the device does not destroy, and close it later") {
            NullBench().use { bench ->
                val threads = bench.context.threadDomain()
                NullVerbs.set(NullVerbs.Option.KEEP_KIND, NullVerbs.Kind.TD.ordinal)
                NullVerbs.set(NullVerbs.Option.KEEP_ERRNO, 16)
                val refusal = shouldThrow<RdmaSystemException> { threads.close() }
                (refusal.operation() to refusal.errnoName()) shouldBe ("ibv_dealloc_td" to "EBUSY")
                NullVerbs.set(NullVerbs.Option.KEEP_KIND, -1)
                threads.close()
                NullVerbs.live(NullVerbs.Kind.TD) shouldBe 0
            }
        }

        test("should read the clock, and say so when the device answers without it or has none") {
            NullBench().use { bench ->
                bench.context.queryClock() shouldBe 0x7000000000000001
                NullVerbs.set(NullVerbs.Option.CLOCKLESS, 1)
                shouldThrow<UnsupportedVerbException> { bench.context.queryClock() }.operation() shouldBe
                    "ibv_query_rt_values_ex"
            }
            NullBench(extended = false).use { bench ->
                shouldThrow<UnsupportedVerbException> { bench.context.queryClock() }
                shouldThrow<UnsupportedVerbException> { bench.context.threadDomain() }.message shouldContain
                    Feature.THREAD_DOMAIN.needs()
                shouldThrow<UnsupportedVerbException> { bench.pd.parentDomain() }.operation() shouldBe
                    "ibv_alloc_parent_domain"
                shouldThrow<UnsupportedVerbException> { bench.queuePair().limitRate(RateLimit.NONE) }
            }
        }

        test("should give the options that the device accepted, and no more") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                qp.queryEce() shouldBe Ece(0x2c9, 0, 0)
                qp.setEce(Ece(0x2c9, 0xff, 0)) shouldBe Ece(0x2c9, 0xf, 0)
                qp.queryEce() shouldBe Ece(0x2c9, 0xf, 0)
                shouldThrow<UnsupportedVerbException> { qp.setEce(Ece(0, 1, 0)) }.operation() shouldBe "ibv_set_ece"
                shouldThrow<RdmaSystemException> { qp.setEce(Ece(5, 1, 0)) }.errnoName() shouldBe "EINVAL"
            }
        }

        test("should limit the rate in numbers without a sign") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                qp.limitRate(RateLimit(4_000_000_000, 60_000, 50_000))
                NullVerbs.rate(qp) shouldBe listOf(4_000_000_000, 60_000, 50_000)
                qp.limitRate(RateLimit.NONE)
                NullVerbs.rate(qp) shouldBe listOf(0L, 0L, 0L)
                val refusal = shouldThrow<RdmaSystemException> { qp.limitRate(RateLimit.ofKbps(13)) }
                refusal.message shouldContain "ibv_modify_qp_rate_limit(queue pair"
                refusal.message shouldContain "kbps=13"
            }
            for (wrong in listOf<() -> Any>(
                { RateLimit.ofKbps(-1) },
                { RateLimit.ofKbps(1L shl 32) },
                { RateLimit(1, -1, 0) },
                { RateLimit(1, 0, 65_536) },
            )) {
                shouldThrow<IllegalArgumentException> { wrong() }
            }
        }

        test("should protect against fork before a device is listed, and pass on that it is too late") {
            ForkStatus.protectThisProcess()
            NullVerbs.set(NullVerbs.Option.FORK_ERRNO, 22)
            val late = shouldThrow<RdmaSystemException> { ForkStatus.protectThisProcess() }
            (late.operation() to late.errnoName()) shouldBe ("ibv_fork_init" to "EINVAL")
        }

        test("should tell the index of a device") {
            Device.byName("null0").index() shouldBe 7
        }

        test("should find an Ethernet address and its VLAN") {
            NullBench().use { bench ->
                fun resolve(
                    gid: String,
                    port: Int,
                ) = bench.context.resolveEthernet(AddressAttributes.toGid(Gid.parse(gid), 0, port))
                resolve("fe80::f1", 1) shouldBe EthernetAddress(MacAddress(0xf1f2f3f4f5f6), EthernetAddress.NO_VLAN)
                "${resolve("fe80::f1", 1)}" shouldBe "f1:f2:f3:f4:f5:f6"
                "${resolve("fe80::1", 2)}" shouldBe "01:02:03:04:05:06 vlan 291"
                shouldThrow<RdmaSystemException> { resolve("fe80::", 1) }.errnoName() shouldBe "EHOSTUNREACH"
                shouldThrow<IllegalArgumentException> {
                    bench.context.resolveEthernet(AddressAttributes.builder().port(1).build())
                }.message shouldContain "no global route"
            }
        }

        test("should name the release that tells the speed of a port, which this library does not") {
            NullBench().use { bench ->
                bench.context.supports(Feature.PORT_SPEED) shouldBe false
                shouldThrow<UnsupportedVerbException> { bench.context.queryPortSpeed(1) }.message shouldContain
                    "rdma-core 62 or newer"
            }
        }

        test("should find a port by each of its names") {
            fun found(name: String) = "${DevicePort.find(name)}"
            for (name in listOf("", "null0", "null0/1", "0200:0000:0000:0001", "0x0200000000000001")) {
                found(name) shouldBe "null0/1"
            }
            NullBench().use { bench ->
                found(bench.context.queryGid(1, 0).toCompactString()) shouldBe "null0/1"
            }
            for (name in listOf(
                "null1",
                "null0/2",
                "null0/",
                "/1",
                "null0/one",
                "1:2:3:4",
                "fe80::77",
                ":",
                "0x",
                "::zz",
            )) {
                shouldThrow<DeviceNotFoundException> { DevicePort.find(name) }.message shouldContain
                    "asked for: device '$name'"
            }
        }

        test("should make the UDP source port of a flow label as rdma-core does") {
            GlobalRoute.udpSourcePort(0) shouldBe 0xc000
            GlobalRoute.udpSourcePort(1) shouldBe 0xc001
            GlobalRoute.udpSourcePort(0x3fff) shouldBe 0xffff
            GlobalRoute.udpSourcePort(0xfffff) shouldBe 0xffc0
            GlobalRoute.udpSourcePort(0x4000) shouldBe 0xc001
            GlobalRoute.udpSourcePort(0x12345678) shouldBe (0x1678 xor 0x11 or 0xc000)
        }

        test("should tell whether a mask has a queue pair type") {
            QueuePairType.RC.isIn(1 shl 2) shouldBe true
            QueuePairType.UD.isIn(1 shl 2) shouldBe false
            QueuePairType.DRIVER.isIn(-1) shouldBe false
            QueuePairType.UNKNOWN.isIn(-1) shouldBe false
        }
    })
