package org.kverbs.embedded.internal.objects

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import kotlin.random.Random

/** More look-ups of one number than it takes until the map finds the number at once. */
private const val MANY = 40

class IntMapSpec :
    FunSpec({
        fun usual(key: Int) =
            IntMap<String>().apply {
                put(key, "first")
                repeat(MANY) { get(key) shouldBe "first" }
            }

        test("should not find an object that was removed after many look-ups, and find the next one with its number") {
            val map = usual(7)
            map.remove(7)
            map.get(7).shouldBeNull()
            map.put(7, "second")
            repeat(MANY) { map.get(7) shouldBe "second" }
        }

        test("should find an object that took the place of another after many look-ups") {
            val map = usual(7)
            map.put(7, "second")
            map.get(7) shouldBe "second"
        }

        test("should keep to what a map of the library holds") {
            val random = Random(1)
            val map = IntMap<Int>()
            val expected = mutableMapOf<Int, Int>()
            repeat(100_000) { value ->
                val key = random.nextInt(200) * 256
                when (random.nextInt(8)) {
                    0 -> map.put(key, value).also { expected[key] = value }
                    1 -> map.remove(key).also { expected -= key }
                    else -> repeat(random.nextInt(MANY)) { map.get(key) shouldBe expected[key] }
                }
            }
            map.size() shouldBe expected.size
        }
    })
