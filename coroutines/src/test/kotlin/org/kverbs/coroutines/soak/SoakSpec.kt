package org.kverbs.coroutines.soak

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveAtLeastSize
import io.kotest.matchers.shouldBe
import org.kverbs.coroutines.churn.Holdings
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import java.io.File
import java.nio.file.Path
import java.util.concurrent.TimeUnit.MINUTES
import java.util.concurrent.TimeUnit.SECONDS

private const val PROGRAM = "org.kverbs.coroutines.soak.SoakProgram"

/** Turns that are long enough for some rounds of each load, and give a run of an hour some hundred moments. */
private const val TURN_SECONDS = 30

/**
 * A heap of fixed size that is resident from the start, so that other memory shows its growth. The JVM makes the C
 * library return what is free, each second: otherwise it can keep the memory of a peak, which looks like a leak.
 */
private val OPTIONS =
    listOf("-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1") +
        listOf("-XX:TrimNativeHeapInterval=1000") +
        listOf("-XX:NativeMemoryTracking=summary", "-Dkverbs.diagnostics=true", "--enable-native-access=ALL-UNNAMED")

/** A program that is in a deadlock ends when it takes so much longer than it was given. */
private const val GRACE_MINUTES = 10L

/** Runs the program for some [seconds], and returns its status with its output. */
private fun soak(
    seconds: Int,
    vararg words: String,
): Pair<Int, String> {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
    val output = File.createTempFile("soak", ".txt")
    try {
        val program = listOf("-cp", System.getProperty("java.class.path"), PROGRAM, "$seconds")
        val command = listOf(java) + OPTIONS + program + words
        val builder = ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output)
        // Its allocator keeps what a thread freed: few arenas keep less.
        builder.environment()["MALLOC_ARENA_MAX"] = "2"
        val process = builder.start()
        if (!process.waitFor(seconds + MINUTES.toSeconds(GRACE_MINUTES), SECONDS)) {
            process.destroyForcibly().waitFor()
            throw AssertionError("did not end $GRACE_MINUTES minutes after its time:\n${output.readText()}")
        }
        return process.exitValue() to output.readText()
    } finally {
        output.delete()
    }
}

private fun moments(text: String) = text.lines().mapNotNull(SoakHoldings::parse)

/**
 * Loads a process with everything at once, and with faults, and looks at what it holds: `./verify --slow` does it for an
 * hour, by the system property soak.minutes. Without it the test makes sure for some seconds that the load runs.
 */
class SoakSpec :
    FunSpec({
        val minutes = System.getProperty("soak.minutes")?.toInt()
        // Longer than the program can take, which tells more when it does not end.
        timeout = MINUTES.toMillis((minutes ?: 1) + 2 * GRACE_MINUTES)
        invocationTimeout = timeout

        test("should hold no more after ${minutes ?: "a fraction of"} minutes of mixed load with faults") {
            val (status, text) =
                if (minutes == null) soak(1, "1") else soak(60 * minutes, "${minOf(TURN_SECONDS, 5 * minutes)}")
            withClue(text) { status shouldBe 0 }
            val held = moments(text) shouldHaveAtLeastSize 1
            println("soak: first ${held.first()}\nsoak: last ${held.last()}")
            val last = text.lines().last { it.startsWith("after ") }
            println("soak: $last")
            // A load that moved nothing proves nothing.
            for (load in listOf("operations in storms", "connections", "checks over UDP", "failures injected")) {
                withClue("$load: $last") { Regex("([1-9]\\d*) $load").containsMatchIn(last) shouldBe true }
            }
            if (minutes != null) withClue(text) { Flatness.growths(held).shouldBeEmpty() }
        }

        test("should see a leak of each kind that is planted") {
            val (status, text) = soak(if (minutes == null) 1 else 60, "1", "leak")
            withClue(text) { status shouldBe 0 }
            if (minutes == null) return@test
            val growths = Flatness.growths(moments(text)).joinToString()
            for (kind in listOf("heap", "arenas", "open resources", "descriptors", "threads")) {
                withClue("$kind: $growths\n$text") { (kind in growths) shouldBe true }
            }
        }

        fun moment(
            heap: Long = 0,
            threads: Int = 0,
        ) = SoakHoldings(Holdings(10.MiB + heap, 1.MiB, 600.MiB, 3), 40, 20 + threads)

        test("should call flat what grows first and then goes up and down") {
            val moments = (0L until 30).map { moment(heap = minOf(it, 8) * 1.MiB + it % 5 * 100.KiB) }
            Flatness.growths(moments).shouldBeEmpty()
        }

        test("should call flat what caches keep at their high-water mark, and not a leak of one resource a turn") {
            fun resources(open: (Int) -> Int) =
                (0 until 30).map { SoakHoldings(Holdings(10.MiB, 1.MiB, 600.MiB, open(it)), 40, 20) }
            Flatness.growths(resources { if (it < 24) 72 + it % 3 else 80 }).shouldBeEmpty()
            Flatness.growths(resources { 72 + it }) shouldBe listOf("open resources grew by 19 in 20 moments")
        }

        test("should not call a step of one moment a growth, and a steady small growth one") {
            Flatness.growths((0 until 30).map { moment(threads = if (it == 20) 50 else 0) }).shouldBeEmpty()
            Flatness.growths((0 until 30).map { moment(threads = it / 4) }) shouldBe
                listOf("threads grew by 5 in 20 moments")
        }

        test("should read the holdings that it printed") {
            SoakHoldings.parse("${moment()}") shouldBe moment()
            SoakHoldings.parse("soak: nothing") shouldBe null
        }
    })
