package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

internal class ResourceScopeSpec :
    FunSpec({
        test("should close in reverse order and give the block's result") {
            val closed = mutableListOf<Int>()
            resourceScope {
                (1..3).forEach { own(AutoCloseable { closed += it }) }
                "done"
            } shouldBe "done"
            closed shouldBe listOf(3, 2, 1)
        }

        test("should throw the block's exception with those of closing suppressed in it, and close all") {
            var closed = 0
            val thrown =
                shouldThrow<IllegalStateException> {
                    resourceScope {
                        own(AutoCloseable { closed++ })
                        listOf("first", "second").forEach { own(AutoCloseable { throw RuntimeException(it) }) }
                        error("block")
                    }
                }
            thrown.message shouldBe "block"
            thrown.suppressed.map { it.message } shouldBe listOf("second", "first")
            closed shouldBe 1
        }

        test("should throw the first exception of closing with the later ones suppressed") {
            val thrown =
                shouldThrow<RuntimeException> {
                    resourceScope {
                        listOf(
                            "first",
                            "second",
                        ).forEach { own(AutoCloseable { throw RuntimeException(it) }) }
                    }
                }
            thrown.message shouldBe "second"
            thrown.suppressed.map { it.message } shouldBe listOf("first")
        }
    })
