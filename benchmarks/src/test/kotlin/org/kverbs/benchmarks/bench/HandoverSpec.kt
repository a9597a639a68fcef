package org.kverbs.benchmarks.bench

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import java.util.concurrent.ConcurrentHashMap

internal class HandoverSpec :
    FunSpec({
        test("should measure the way of a line between two threads, each of which takes its place first") {
            val places = ConcurrentHashMap.newKeySet<Pair<String, Thread>>()
            val nanos =
                Handover.nanos({ places += "near" to Thread.currentThread() }, {
                    places +=
                        "far" to Thread.currentThread()
                })
            nanos shouldBeGreaterThan 0
            places.map { it.first }.toSet() shouldBe setOf("near", "far")
            places.map { it.second }.toSet().size shouldBe 2
        }
    })
