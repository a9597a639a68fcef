package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.doubles.shouldBeGreaterThan
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeGreaterThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.DevicePort
import org.kverbs.RdmaSystemException
import org.kverbs.acceptance.contract.Capability.ADDRESS_EVENTS
import org.kverbs.acceptance.contract.Capability.ADDRESS_HANDLES
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.GidType
import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.NodeType
import org.kverbs.attributes.PortState
import org.kverbs.attributes.TransportType
import java.nio.file.Files
import java.nio.file.Path

/** Checks finding devices and querying them. */
internal class QuerySpec :
    ContractSpec({
        case("should list the device and find it by name and by GUID") {
            val listed = Device.list().single { it.name() == device.name }
            Device.byName(device.name).guid() shouldBe listed.guid()
            listed.guid() shouldNotBe 0
            Device.byGuid(listed.guid()).name() shouldBe device.name
            Device.first().name() shouldBe Device.list().first().name()
            listed.provider() shouldBe device.provider
            listed.toString() shouldMatch Regex("${device.name} \\([0-9a-f]{4}(:[0-9a-f]{4}){3}\\)")
            context.device().name() shouldBe device.name
        }

        case("should know what kind of device it is") {
            val roce = RAW_CONNECT in device.capabilities
            context.device().nodeType() shouldBe if (roce) NodeType.CA else NodeType.RNIC
            context.device().transportType() shouldBe if (roce) TransportType.IB else TransportType.IWARP
        }

        case("should open the device several times, each open its own") {
            val others = List(10) { Device.byName(device.name).open() }
            others.first().close()
            others.first().isOpen shouldBe false
            others.last().queryPort(PORT).state() shouldBe PortState.ACTIVE
            others.drop(1).forEach { it.close() }
            context.queryPort(PORT).state() shouldBe PortState.ACTIVE
        }

        case("should list the devices when the requested one does not exist") {
            val missing = shouldThrow<DeviceNotFoundException> { Device.byName("mlx5_77") }
            missing.message shouldContain "device 'mlx5_77'"
            missing.available() shouldContainAll devicesUnderTest.map { it.name }
            missing.message shouldContain device.name
            shouldThrow<DeviceNotFoundException> { Device.byGuid(1) }.message shouldContain "0000:0000:0000:0001"
        }

        case("should be found by its name, the name of its port, its GUID and its GIDs") {
            val names =
                listOf(device.name, "${device.name}/$PORT", "0x%016x".format(context.device().guid())) +
                    context.queryGidTable().map { it.gid().toString() }
            for (name in names) withClue(name) { "${DevicePort.find(name)}" shouldBe "${device.name}/$PORT" }
            shouldThrow<DeviceNotFoundException> { DevicePort.find("${device.name}/2") }.message shouldContain
                "device '${device.name}/2'"
            (context.device().index() >= 0) shouldBe (device.provider == "native")
        }

        case("should answer ibv_query_device, and ibv_query_device_ex with the same") {
            val plain = context.queryDevice()
            plain.nodeGuid() shouldBe context.device().guid()
            plain.systemImageGuid() shouldNotBe 0
            plain.physPortCnt() shouldBe 1
            plain.maxMrSize() shouldNotBe 0
            plain.pageSizeCap() shouldBeGreaterThanOrEqual 4096
            listOf(
                plain.maxQp(),
                plain.maxQpWr(),
                plain.maxSge(),
                plain.maxCq(),
                plain.maxCqe(),
                plain.maxMr(),
                plain.maxPd(),
            ).forEach {
                it shouldBeGreaterThan 0
            }
            val extended = context.queryDeviceEx()
            extended.original() shouldBe plain
            extended.physPortCntEx() shouldBe 1
            plain.toString().lines().size shouldBeGreaterThan 30
        }

        case("should answer ibv_query_port as the network device is set up") {
            val port = context.queryPort(PORT)
            port.state() shouldBe PortState.ACTIVE
            port.linkLayer() shouldBe LinkLayer.ETHERNET
            port.maxMtu() shouldBe Mtu.MTU_4096
            port.activeMtu() shouldNotBe Mtu.UNKNOWN
            port.gidTableLength() shouldBeGreaterThan 0
            port.maxMessageSize() shouldBeGreaterThan 4096
            port.lanes() shouldBeGreaterThan 0
            port.laneGbps() shouldBeGreaterThan 0.0
        }

        case("should refuse a port that the device lacks") {
            for (port in listOf(0, 2, 99)) {
                val refusal = shouldThrow<RdmaSystemException> { context.queryPort(port) }
                refusal.errnoName() shouldBe "EINVAL"
                refusal.operation() shouldBe "ibv_query_port"
                refusal.message shouldContain "port=$port"
                refusal.message shouldContain "Check the port number (from 1)"
            }
        }

        case("should read the same GIDs one by one, extended, as a table and from sysfs") {
            val table = context.queryGidTable()
            table.size shouldBeGreaterThan 0
            for (entry in table) {
                val single = context.queryGid(PORT, entry.index())
                single shouldBe entry.gid()
                context.queryGidEntry(PORT, entry.index()) shouldBe entry
                context.queryGidType(PORT, entry.index()) shouldBe entry.type()
                val file = Path.of("/sys/class/infiniband/${device.name}/ports/$PORT/gids/${entry.index()}")
                if (Files.exists(file)) single.toString() shouldBe Files.readString(file).trim()
            }
        }

        case(
            "should choose the RoCE v2 GID of the IPv4 address by default, or else of the IPv6 address",
            ADDRESS_HANDLES,
        ) {
            val chosen = context.queryGidEntry(PORT, context.defaultGidIndex(PORT))
            chosen.type() shouldBe GidType.ROCE_V2
            chosen.gid().isIpv4Mapped shouldBe !device.isIpv6
            val netdev = Path.of("/sys/class/net/${device.netdev}/ifindex")
            val index = if (ADDRESS_EVENTS in device.capabilities) Files.readString(netdev).trim().toInt() else 0
            chosen.netdevIndex() shouldBe index
        }

        case(
            "should tell an empty GID index from one beyond the table, and refuse a table that is too small",
            ADDRESS_HANDLES,
        ) {
            val length = context.queryPort(PORT).gidTableLength()
            val empty = shouldThrow<RdmaSystemException> { context.queryGidEntry(PORT, length - 1) }
            empty.errnoName() shouldBe "ENODATA"
            empty.message shouldContain "is empty"
            context.queryGid(PORT, length - 1).isZero shouldBe true
            val beyond = shouldThrow<RdmaSystemException> { context.queryGidEntry(PORT, length) }
            beyond.errnoName() shouldBe "EINVAL"
            beyond.message shouldContain "index=$length"
            val entries = context.queryGidTable().size
            context.queryGidTable(entries).size shouldBe entries
            val small = shouldThrow<RdmaSystemException> { context.queryGidTable(entries - 1) }
            small.errnoName() shouldBe "EINVAL"
            small.message shouldContain "max_entries=${entries - 1}"
        }

        case("should read the partition keys", RAW_CONNECT) {
            context.queryPkey(PORT, 0) shouldBe 0xffff
            context.pkeyIndex(PORT, 0xffff) shouldBe 0
            context.queryDevice().maxPkeys() shouldBeGreaterThan 0
            val keys = List(context.queryPort(PORT).pkeyTableLength()) { context.queryPkey(PORT, it) }
            keys shouldContain 0xffff
            shouldThrow<RdmaSystemException> { context.queryPkey(PORT, 5000) }.message shouldContain "index=5000"
            shouldThrow<RdmaSystemException> { context.pkeyIndex(PORT, 0x1234) }.message shouldContain "pkey=0x1234"
        }
    })
