package org.kverbs.cli.perf

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.doubles.plusOrMinus
import io.kotest.matchers.doubles.shouldBeGreaterThan
import io.kotest.matchers.doubles.shouldBeLessThan
import io.kotest.matchers.shouldBe

private const val UNDER_WAY = 128L
private const val BURST_NANOS = 10_000_000L
private const val AVERAGE = UNDER_WAY * 1e9 / BURST_NANOS

/** Plays so many bursts, in which all messages under way complete 5 us apart after the device has worked for them. */
private fun bursts(
    count: Int,
    nanos: (Int) -> Long = { BURST_NANOS },
): Measured {
    val measured = Measured(false)
    measured.begin(0, count * UNDER_WAY, UNDER_WAY)
    var now = 0L
    var done = 0L
    for (burst in 0 until count) {
        now += nanos(burst)
        repeat(UNDER_WAY.toInt()) { measured.done(++done, now + it * 5_000L) }
    }
    measured.end(now)
    return measured
}

/** Tests the peak of a row, which no burst of completions may raise above what the device does. */
class MeasuredSpec :
    FunSpec({
        test("should take the average for the peak where a row has few times as many messages as are under way") {
            bursts(4).peak() shouldBe (AVERAGE plusOrMinus 1.0)
        }

        test("should not take the completions of one moment for the rate of the device") {
            bursts(200).peak() shouldBeLessThan 1.2 * AVERAGE
        }

        test("should take no shorter parts for a test that has many more messages than were expected") {
            val measured = Measured(false)
            measured.begin(0, 1, 1)
            var now = 0L
            for (done in 1..100_000L) {
                now += if (done / 200 % 2 == 0L) 5_000L else 15_000L // fast and slow by turns
                measured.done(done, now)
            }
            measured.end(now)
            measured.peak() shouldBeLessThan 1.1e5
        }

        test("should find the part in which the device was faster") {
            val peak = bursts(200) { if (it in 100..120) BURST_NANOS / 4 else BURST_NANOS }.peak()
            peak shouldBeGreaterThan 2 * AVERAGE
            peak shouldBeLessThan 4.8 * AVERAGE
        }
    })
