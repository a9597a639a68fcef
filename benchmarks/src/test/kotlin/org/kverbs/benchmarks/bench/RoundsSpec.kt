package org.kverbs.benchmarks.bench

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import java.time.Duration

private class Fake(
    override val name: String,
    private val order: MutableList<String>,
    vararg figures: Double,
) : Contender {
    private val left = figures.toMutableList()
    override val title = "the contender $name"

    override fun obstacle() = null

    override fun measure(time: Duration): Map<Case, Double> {
        order += name
        val figure = left.removeFirstOrNull() ?: throw BenchException("it has none left")
        return Case.entries.associateWith { figure }
    }
}

private fun machine() = Machine(2, "a processor", "Linux 6", "25", 0.5, java.time.LocalDate.of(2026, 1, 2))

internal class RoundsSpec :
    FunSpec({
        test("should measure all by turns, each second round backwards, and take medians") {
            val order = mutableListOf<String>()
            val contenders = listOf(Fake("a", order, 3.0, 1.0, 2.0), Fake("b", order, 8.0, 8.0, 8.0))
            val (a, b) = Rounds(contenders, Duration.ofMillis(1), { 80 }) {}.run(3)
            order.joinToString("") shouldBe "abbaab"
            a.median(Case.STREAM_1_MIB) shouldBe 2.0
            b.all(Case.ROUND_TRIP_64) shouldContainExactly listOf(8.0, 8.0, 8.0)
        }

        test("should leave out what has failed, tell it, and keep its figures") {
            val order = mutableListOf<String>()
            val told = mutableListOf<String>()
            val contenders = listOf(Fake("a", order, 4.0), Fake("b", order, 8.0, 8.0, 8.0))
            val lines = mutableListOf(80L, 430L, 90L, 85L, 81L)
            val rounds = Rounds(contenders, Duration.ofMillis(1), lines::removeFirst, told::add)
            val figures = rounds.run(3)
            order.joinToString("") shouldBe "abbab"
            told.single { "failed" in it } shouldBe "kverbs: a failed: it has none left"
            val report = Report(machine(), figures, rounds.handovers)
            report.text() shouldContain "a cache line took 80 to 430 ns from one processor to another"
            report.failed shouldBe listOf("a")
            report.markdown().lines() shouldContainExactly
                listOf(
                    "| | 64 B there and back | 4 KiB there and back | stream of 64 KiB | stream of 1 MiB |",
                    "|---|---|---|---|---|",
                    "| the contender a | 4.00 us (1.00) | 4.00 us (1.00) | 4.00 MB/s (1.00) | 4.00 MB/s (1.00) |",
                    "| the contender b | 8.00 us (0.50) | 8.00 us (0.50) | 8.00 MB/s (2.00) | 8.00 MB/s (2.00) |",
                )
        }

        test("should replace what stands between the marks of a page, and nothing else") {
            val page = "before\n${Pages.BEGIN}old\n${Pages.END}behind\n"
            val written = Pages.between(page, "new\n")
            written shouldBe "before\n${Pages.BEGIN}\nnew\n\n${Pages.END}behind\n"
            Pages.between(written, "new\n") shouldBe written
        }

        test("should have the marks in the page that is committed") {
            val page = java.io.File(System.getProperty("kverbs.root"), "docs/performance.md").readText()
            Pages.between(page, "") // or it is an exception
        }
    })
