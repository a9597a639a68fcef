package org.kverbs.benchmarks.bench

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain

private val BASELINE = Call.entries.associate { "$it" to 2.0 }

/** A gate with the ratios of one call, one for each attempt. The others cost as the baseline says. */
private class Given(
    private val call: Call,
    vararg ratios: Double,
    private val allocated: Double = 0.0,
) {
    private val left = ratios.toMutableList()
    val measured = mutableListOf<Collection<Call>>()
    val told = mutableListOf<String>()
    val gate =
        Gate({ calls ->
            measured += calls
            calls.associateWith {
                if (it == call) Calls.Cost(10 * left.removeFirst(), 10.0, allocated) else Calls.Cost(20.0, 10.0, 0.0)
            }
        }, told::add)
}

internal class GateSpec :
    FunSpec({
        test("should pass what costs as much as the baseline says, measured once") {
            val given = Given(Call.WRITE, 2.0)
            given.gate.passes(BASELINE) shouldBe true
            given.measured.map { it.size } shouldBe listOf(Call.entries.size)
        }

        test("should measure again only what costs too much, and take the best") {
            val given = Given(Call.WRITE, 3.3, 5.0, 3.1)
            given.gate.passes(BASELINE) shouldBe true
            given.measured.drop(1) shouldBe listOf(listOf(Call.WRITE), listOf(Call.WRITE))
            given.told.filter { "too much" in it } shouldBe emptyList()
        }

        test("should fail what costs too much three times, and name it and what to do if it is meant") {
            val given = Given(Call.POST_RECEIVE, 3.3, 3.3, 3.3)
            given.gate.passes(BASELINE) shouldBe false
            given.measured.size shouldBe 3
            val failed = given.told.filter { it.endsWith("too much") }
            failed.map { it.substringBefore("  ") } shouldBe listOf("post of a receive")
            given.told.last() shouldContain "post of a receive: more than 1.6 times the baseline's ratio to C, 3 times"
            given.told.last() shouldContain "benchmarks/run --gate --write"
        }

        test("should not mix the times of two attempts: each of these is beyond its own") {
            val first = Calls.Cost(20.0, 10.0, 0.0)
            val second = Calls.Cost(12.0, 4.0, 8.0)
            first.best(second) shouldBe first
            second.best(first) shouldBe first
        }

        test("should measure again when a program failed, and fail if it does so at each attempt") {
            var left = 2
            val told = mutableListOf<String>()
            val gate =
                Gate({ calls ->
                    if (left-- > 0) throw BenchException("loops did not end within 120 s")
                    calls.associateWith { Calls.Cost(20.0, 10.0, 0.0) }
                }, told::add)
            gate.passes(BASELINE) shouldBe true
            told.first() shouldBe "an attempt failed: loops did not end within 120 s"
            left = 3
            shouldThrow<BenchException> { gate.passes(BASELINE) }
        }

        test("should fail a call that allocates, however fast it is") {
            Given(Call.EMPTY_POLL, 1.0, 1.0, 1.0, allocated = 16.0).gate.passes(BASELINE) shouldBe false
        }

        test("should refuse a baseline that lacks a call") {
            val error = shouldThrow<BenchException> { Given(Call.WRITE, 2.0).gate.passes(BASELINE - "write") }
            error.message!! shouldContain "the baseline has no write"
        }

        test("should read what it writes, and the file that is committed") {
            val costs = Call.entries.associateWith { Calls.Cost(25.0, 10.0, 0.0) }
            val text = Gate.text(costs)
            text.lines() shouldContain "prebuilt-write\t2.50"
            Gate.ratios(text.lines()) shouldBe Call.entries.associate { "$it" to 2.5 }
            val root = java.io.File(System.getProperty("kverbs.root"))
            Gate.ratios(root.resolve("benchmarks/baseline.tsv").readLines()).keys shouldBe BASELINE.keys
        }
    })
