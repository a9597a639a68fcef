package org.kverbs.structures

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlin.random.Random

private val example =
    fan {
        this["state"] = 2
        this["speed"] = 1200
        this["serial"] = Guid(0x2c90300001491)
        this["alarms"] = 5
    }

class PrintersSpec :
    FunSpec({
        test("should print a line with all fields") {
            example.toString() shouldBe
                "Fan(state=FAST(2), speed=1200, isNew=0, serial=0002:c903:0000:1491, " +
                "alarms=STUCK(1)|FanAlarm??(4), wear=0)"
        }

        test("should dump words with the fields that begin in them") {
            example.dump() shouldBe
                """
                Fan
                   0 52c00002 state=FAST(2) speed=1200 isNew=0 serial=0002:c903:0000:1491
                   4 c9030000
                   8 14910500 alarms=STUCK(1)|FanAlarm??(4) wear=0

                """.trimIndent()
        }

        test("should introduce nested structures in a dump, and leave out the zeros at the end") {
            val full =
                record {
                    this["lid"] = 5
                    this["reserved0"] = 3
                    this["fan"] = example
                }
            full.dump() shouldBe
                """
                FanRecord
                   0 00050003 lid=5 reserved0=3
                   4 00000000 service=0
                   8 00000000
                  12 00000000 data[0]=0 data[1]=0 data[2]=0 data[3]=0
                  16 00000000 table[0]=0 table[1]=0 table[2]=0 table[3]=0
                     + fan: Fan
                  20 52c00002 state=FAST(2) speed=1200 isNew=0 serial=0002:c903:0000:1491
                  24 c9030000
                  28 14910500 alarms=STUCK(1)|FanAlarm??(4) wear=0

                """.trimIndent()
            fans.type("FanTray")().dump().lines().size shouldBe 33
        }

        test("should print the dotted form, with the labels and formats of the description") {
            example.dotted() shouldBe
                """
                State:...........................Fast
                Speed:...........................1200
                IsNew:...........................0
                Serial:..........................0x0002c90300001491
                Alarms:..........................Stuck or undefined (5)
                Wear:............................0x00

                """.trimIndent()
        }

        test("should print a line for each bit that is set where the format is lines") {
            tray { this["features"] = 0x201 }.dotted().lines().drop(1).take(3) shouldBe
                listOf("Features:........................0x201", "\t\t\t\tIsHotSwappable", "\t\t\t\tIsSilent")
        }

        test("should print names with their numbers, and keep what has no name") {
            val state = fans.enumeration("FanState")
            state.text(1) shouldBe "SLOW(1)"
            state.text(0x40) shouldBe "FanState??(64)"
            val alarm = fans.enumeration("FanAlarm")
            alarm.text(0) shouldBe "NONE(0)"
            alarm.text(3) shouldBe "STUCK(1)|WORN(2)"
            alarm.text(0x40) shouldBe "FanAlarm??(64)"
            alarm.text(0xff) shouldBe "ALL(255)"
        }

        test("should make JSON with names, lists of bits, and text for what JavaScript can't count") {
            val full =
                tray {
                    this["features"] = 0x205
                    this["counter"] = -1L
                    this["fans[0].state"] = 7
                    this["place"] =
                        "a\"b"
                }
            full.toJson()["features"].toString() shouldBe """["IsHotSwappable","IsSilent",4]"""
            full.toJson()["counter"].toString() shouldBe "\"0xffffffffffffffff\""
            full.toJson()["place"].toString() shouldBe "\"a\\\"b\""
            example.toJson().toString() shouldBe
                """{"state":"FAST","speed":1200,"isNew":0,"serial":"0002:c903:0000:1491",""" +
                """"alarms":["STUCK",4],"wear":0}"""
        }

        test("should make of JSON the bytes it was made of, reserved ones among them") {
            for (type in listOf(fan, tray, record)) {
                repeat(200) { seed ->
                    val bytes = Random(seed).nextBytes(type.byteSize)
                    // Text is read up to its first NUL byte, and must be UTF-8.
                    if (type == tray) "left\u0000\u0000\u0000\u0000".encodeToByteArray().copyInto(bytes, 48)
                    type.fromJson(type.of(bytes).toJson().toString()) shouldBe type.of(bytes)
                }
            }
        }

        test("should refuse JSON with unknown fields or values that do not fit") {
            for (text in listOf(
                "[]",
                "{",
                "{\"noise\":1}",
                "{\"speed\":4096}",
                "{\"speed\":{}}",
                "{\"state\":\"LOUD\"}",
            )) {
                shouldThrow<IllegalArgumentException> { fan.fromJson(text) }
            }
            shouldThrow<IllegalArgumentException> { tray.fromJson("{\"key\":\"xyz\"}") }
            shouldThrow<IllegalArgumentException> { tray.fromJson("{\"levels\":[1,2,3,4,5,6,7]}") }
        }
    })
