package org.kverbs.structures

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.attributes.Gid
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import kotlin.random.Random

class StructureSpec :
    FunSpec({
        test("should read what was assigned, for every kind of field") {
            val full =
                tray {
                    this["owner"] = 12
                    this["features"] = 0x201
                    this["home"] = "fe80::1"
                    this["levels"] = listOf(1, 2, 3, 4, 5, 31)
                    this["fans[1].speed"] = 2047
                    this["fans[1].state"] = "FAST"
                    this["place"] = "left"
                    this["key"] = byteArrayOf(1, 2, 3)
                    this["counter"] = -1L
                    this["spares[0]"] = "2:c903:0:1491"
                    this["time"] = 1L shl 47
                    this["lids"] = listOf(Lid(1), Lid(2), "0xffff")
                }
            full["owner"] shouldBe Lid(12)
            full["features"].toString() shouldBe "IsHotSwappable(1)|IsSilent(512)"
            full["home"] shouldBe Gid.parse("fe80::1")
            full["levels"] shouldBe listOf(1L, 2L, 3L, 4L, 5L, 31L)
            full["fans[1].speed"] shouldBe 2047L
            full["fans[1].state"].toString() shouldBe "FAST(2)"
            full["place"] shouldBe "left"
            (full["key"] as ByteArray).toList() shouldBe listOf<Byte>(1, 2, 3, 0, 0, 0)
            full["counter"] shouldBe -1L
            full["spares[0]"].toString() shouldBe "0002:c903:0000:1491"
            full["time"] shouldBe (1L shl 47)
            full["lids"] shouldBe listOf(Lid(1), Lid(2), Lid(0xffff))
        }

        test("should keep all bits but those of the field that is written") {
            val bytes = Random(3).nextBytes(fan.byteSize)
            val view = fan.of(bytes)
            view["speed"] = 0
            val expected = bytes.copyOf()
            expected[0] = (bytes[0].toInt() and 0b1110_0000).toByte()
            expected[1] = (bytes[1].toInt() and 0b11).toByte()
            view.bytes().toList() shouldBe expected.toList()
        }

        test("should view memory, not copy it, at any offset") {
            Arena.ofConfined().use { arena ->
                val memory = arena.allocate(200)
                val first = tray.at(memory, 3)
                val second = tray.at(memory, 3)
                first["fans[0].speed"] = 77
                second["fans[0].speed"] shouldBe 77L
                (first["spare"] as Structure)["wear"] = 5
                second["spare.wear"] shouldBe 5L
            }
            val array = ByteArray(fan.byteSize + 1)
            fan.at(array, 1)["wear"] = 9
            array.last() shouldBe 9.toByte()
        }

        test("should refuse memory that is too short, and say how short") {
            shouldThrow<IllegalArgumentException> { fan.at(ByteArray(12), 4) }.message shouldBe
                "Fan has 12 bytes; from byte 4 on there are 8"
            shouldThrow<IllegalArgumentException> { fan.at(MemorySegment.ofArray(ByteArray(12)), Long.MAX_VALUE) }
            shouldThrow<IllegalArgumentException> { fan.of(ByteArray(13)) }.message shouldBe "Fan has 12 bytes, not 13"
        }

        test("should refuse numbers, bytes, text and elements that do not fit, and change nothing") {
            val view = tray()
            shouldThrow<IllegalArgumentException> { view["fans[0].speed"] = 2048 }.message!! shouldContain
                "give 0 to 2047"
            shouldThrow<IllegalArgumentException> { view["owner"] = -1 }
            shouldThrow<IllegalArgumentException> { view["place"] = "123456789" }
            shouldThrow<IllegalArgumentException> { view["key"] = ByteArray(7) }
            shouldThrow<IllegalArgumentException> { view["levels"] = List(7) { 0 } }
            shouldThrow<IllegalArgumentException> { view["fans[0].state"] = "LOUD" }
            shouldThrow<IllegalArgumentException> { view["spare"] = tray() }
            shouldThrow<NoSuchElementException> { view["lids[3]"] = 1 }
            shouldThrow<NoSuchElementException> { view["owner.lid"] }
            shouldThrow<NoSuchElementException> { view["fans[0].noise"] }.message shouldBe
                "Fan has no field noise; it has state, speed, isNew, serial, alarms, wear"
            view shouldBe tray()
        }

        test("should be equal to what has the same bytes and the same structure") {
            val bytes = Random(4).nextBytes(fan.byteSize)
            fan.of(bytes) shouldBe fan.of(bytes)
            fan.of(bytes).hashCode() shouldBe fan.of(bytes).hashCode()
            fan.of(bytes).copy { this["reserved0"] = 1 - (this["reserved0"] as Long) } shouldNotBe fan.of(bytes)
            fan() shouldNotBe record()
        }

        test("should copy with changes into memory of its own") {
            val first = fan { this["speed"] = 1 }
            val second = first.copy { this["wear"] = 2 }
            first["wear"] shouldBe 0L
            second["speed"] shouldBe 1L
        }

        test("should set the bits of the component mask that belong to what was assigned, zeros among it") {
            fun mask(assign: DynamicStructure.() -> Unit) = record.query(assign).mask.toString()

            mask { } shouldBe "0x0"
            mask { this["lid"] = 0 } shouldBe "0x1"
            mask { this["service"] = 1 } shouldBe "0xc"
            mask { this["data[2]"] = 1 } shouldBe "0x40"
            mask { this["table[3]"] = 1 } shouldBe "0x100"
            mask { this["fan.speed"] = 1 } shouldBe "0x400"
            mask { (this["fan"] as Structure)["wear"] = 1 } shouldBe "0x8000"
            mask { this["fan"] = fan() } shouldBe "0xfe00"
        }

        test("should name what a query asks for, and keep nothing of later changes in its mask") {
            val query =
                record.query {
                    this["lid"] = 7
                    this["fan.speed"] = 3
                }
            query.components shouldContainExactly listOf("lid", "fan.speed")
            query.toString() shouldBe "FanRecord where lid = 7, fan.speed = 3"
            query.record["data[0]"] = 1
            query.mask.toString() shouldBe "0x401"
        }

        test("should tell what a field is") {
            tray.description.field("fans").toString() shouldBe "fans: Fan, bits 192 to 383, 2 elements of 96 bits"
            tray.attributeId shouldBe 0x10
            tray.methods shouldBe setOf(RequestMethod.GET, RequestMethod.SET)
        }

        test("should read text up to its NUL byte, and to the field's end without one") {
            val view = tray { this["place"] = "12345678" }
            view["place"] shouldBe "12345678"
            view["place"] = "12"
            view["place"] shouldBe "12"
        }

        test("should print and read LIDs and GUIDs") {
            Guid.parse("0002:c903:0000:1491") shouldBe Guid(0x2c90300001491)
            Guid.parse("0x2c90300001491").toString() shouldBe "0002:c903:0000:1491"
            Lid.parse("0x10") shouldBe Lid(16)
            Lid(0xc000).isMulticast shouldBe true
            Lid(0).isUnicast shouldBe false
            for (text in listOf("", "1:2:3", "0x", "12345678901234567", "1:2:3:4:5")) {
                shouldThrow<IllegalArgumentException> { Guid.parse(text) }
            }
            for (text in listOf("", "65536", "-1", "0x", "a")) shouldThrow<IllegalArgumentException> { Lid.parse(text) }
        }
    })
