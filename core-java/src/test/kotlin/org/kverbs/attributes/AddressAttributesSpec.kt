package org.kverbs.attributes

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.property.Arb
import io.kotest.property.arbitrary.ArbitraryBuilderContext
import io.kotest.property.arbitrary.arbitrary
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.long
import io.kotest.property.arbitrary.orNull
import io.kotest.property.checkAll
import org.kverbs.internal.abi.IbvAhAttr
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_SHORT

/** Memory as a device can leave it: no byte is 0. */
private fun dirty() = MemorySegment.ofArray(LongArray(IbvAhAttr.SIZE / Long.SIZE_BYTES) { -1L })

private suspend fun ArbitraryBuilderContext.upTo(max: Int): Int = Arb.int(0..max).bind()

private val routes =
    arbitrary {
        GlobalRoute(Gid(Arb.long().bind(), Arb.long().bind()), upTo(0xfffff), upTo(255), upTo(255), upTo(255))
    }

private val addresses =
    arbitrary {
        AddressAttributes(upTo(0xffff), upTo(15), upTo(127), upTo(255), upTo(255), routes.orNull().bind())
    }

class AddressAttributesSpec :
    FunSpec({
        val gid = Gid.parse("fe80::1")

        test("should come back from memory, whatever was there before") {
            checkAll(1000, addresses) { address ->
                val memory = dirty()
                address.writeTo(memory)
                AddressAttributes.from(memory) shouldBe address
            }
        }

        test("should write each field at its own place") {
            val memory = dirty()
            AddressAttributes(0x1234, 5, 6, 7, 8, GlobalRoute(gid, 0xabcde, 9, 10, 11)).writeTo(memory)
            Gid.from(memory, IbvAhAttr.GRH_DGID.toLong()) shouldBe gid
            memory.get(JAVA_INT, IbvAhAttr.GRH_FLOW_LABEL.toLong()) shouldBe 0xabcde
            memory.get(JAVA_SHORT, IbvAhAttr.DLID.toLong()) shouldBe 0x1234
            val bytes =
                listOf(IbvAhAttr.GRH_SGID_INDEX, IbvAhAttr.GRH_HOP_LIMIT, IbvAhAttr.GRH_TRAFFIC_CLASS) +
                    listOf(
                        IbvAhAttr.SL,
                        IbvAhAttr.SRC_PATH_BITS,
                        IbvAhAttr.STATIC_RATE,
                        IbvAhAttr.IS_GLOBAL,
                        IbvAhAttr.PORT_NUM,
                    )
            bytes.map { memory.get(JAVA_BYTE, it.toLong()).toInt() } shouldBe listOf(9, 10, 11, 5, 6, 7, 1, 8)
        }

        test("should leave nothing of an earlier route where it has none") {
            val memory = dirty()
            AddressAttributes.toLid(7, 1).writeTo(memory)
            memory.asSlice(0, IbvAhAttr.DLID.toLong()).toArray(JAVA_BYTE) shouldBe ByteArray(IbvAhAttr.DLID)
            AddressAttributes.from(memory).globalRoute().shouldBeNull()
        }

        test("should reach a GID with the documented defaults") {
            AddressAttributes.toGid(gid, 3, 1) shouldBe AddressAttributes(0, 0, 0, 0, 1, GlobalRoute(gid, 0, 3, 64, 0))
        }

        test("should reach a LID with the documented defaults") {
            AddressAttributes.toLid(0xbfff, 2) shouldBe AddressAttributes(0xbfff, 0, 0, 0, 2, null)
        }

        test("should build what was set") {
            val route = GlobalRoute(gid, 1, 2, 3, 4)
            val built =
                AddressAttributes
                    .builder()
                    .destinationLid(5)
                    .serviceLevel(6)
                    .sourcePathBits(7)
                    .staticRate(StaticRate.GBPS_100)
                    .port(8)
                    .globalRoute(route)
                    .build()
            built shouldBe AddressAttributes(5, 6, 7, 16, 8, route)
            built.staticRate() shouldBe StaticRate.GBPS_100
        }

        test("should show a rate without a name as UNKNOWN, and refuse to ask for one") {
            AddressAttributes(0, 0, 0, 200, 1, null).staticRate() shouldBe StaticRate.UNKNOWN
            shouldThrow<IllegalArgumentException> {
                AddressAttributes
                    .builder()
                    .port(1)
                    .staticRate(StaticRate.UNKNOWN)
                    .build()
            }.message shouldBe "static rate UNKNOWN cannot be asked for: name a rate"
        }

        test("should refuse an address without a port") {
            shouldThrow<IllegalArgumentException> {
                AddressAttributes
                    .builder()
                    .destinationLid(
                        1,
                    ).build()
            }.message shouldBe
                "port 0 is out of range: 1 to 255"
        }

        test("should name the value and the range of what is out of its range") {
            val wrong =
                mapOf<String, () -> Any>(
                    "destination LID 65536 is out of range: 0 to 65535" to { AddressAttributes.toLid(65536, 1) },
                    "destination LID -1 is out of range: 0 to 65535" to { AddressAttributes.toLid(-1, 1) },
                    "service level 16 is out of range: 0 to 15" to { AddressAttributes(0, 16, 0, 0, 1, null) },
                    "source path bits 128 is out of range: 0 to 127" to { AddressAttributes(0, 0, 128, 0, 1, null) },
                    "static rate 256 is out of range: 0 to 255" to { AddressAttributes(0, 0, 0, 256, 1, null) },
                    "port 256 is out of range: 1 to 255" to { AddressAttributes.toLid(1, 256) },
                    "source GID index 256 is out of range: 0 to 255" to { AddressAttributes.toGid(gid, 256, 1) },
                    "flow label 1048576 is out of range: 0 to 1048575" to { GlobalRoute(gid, 1 shl 20, 0, 0, 0) },
                    "hop limit -1 is out of range: 0 to 255" to { GlobalRoute(gid, 0, 0, -1, 0) },
                    "traffic class 256 is out of range: 0 to 255" to { GlobalRoute(gid, 0, 0, 0, 256) },
                )
            wrong.forEach { (message, make) ->
                shouldThrow<IllegalArgumentException> { make() }.message shouldBe message
            }
        }

        test("should read whatever a device answers") {
            AddressAttributes.from(dirty()) shouldBe
                AddressAttributes(0xffff, 15, 127, 255, 255, GlobalRoute(Gid(-1, -1), 0xfffff, 255, 255, 255))
        }
    })
