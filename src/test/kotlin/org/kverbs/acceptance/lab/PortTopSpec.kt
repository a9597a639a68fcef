package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import org.kverbs.cli.kverbs

/** The lines of JSON that `kverbs top` prints, by the names of the devices. */
private fun top(vararg words: String): Map<String, JsonObject> {
    val out = StringBuilder()
    kverbs(listOf("top", "--json") + words, out) shouldBe 0
    return out
        .lines()
        .filter { it.isNotEmpty() }
        .map { Json.parseToJsonElement(it).jsonObject }
        .associateBy { it.getValue("device").jsonPrimitive.content }
}

private fun JsonObject.packets() = getValue("sentPackets").jsonPrimitive.long

/** Watches the kernel's software devices by `kverbs top`. */
internal class PortTopSpec :
    FunSpec({
        test("should show each device of the machine, and count the packets that Soft-RoCE sends") {
            val before = top("--once")
            before.keys shouldContainAll setOf("rxe0", "siw0")
            kverbs(listOf("pingpong", "-d", "rxe0", "--iters", "100", "--warm-up", "0"), StringBuilder()) shouldBe 0
            val after = top("--once", "-d", "rxe0/1").getValue("rxe0")
            after.packets() - before.getValue("rxe0").packets() shouldBeGreaterThan 199
            after["sentBytes"] shouldBe JsonNull
        }

        test("should count between two readings alone") {
            val reading = top("-n", "1", "--interval", "0.1", "-d", "rxe0").getValue("rxe0")
            (reading.getValue("seconds").jsonPrimitive.content.toDouble() >= 0.1) shouldBe true
        }
    })
