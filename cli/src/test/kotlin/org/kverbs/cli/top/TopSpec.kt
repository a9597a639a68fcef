package org.kverbs.cli.top

import com.github.ajalt.clikt.core.CoreCliktCommand
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import org.kverbs.Device
import org.kverbs.PortTraffic
import org.kverbs.cli.Outcome
import org.kverbs.console.answer
import org.kverbs.console.offer
import org.kverbs.console.screen
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TestTimeSource
import kotlin.time.TimeSource

private const val TIME = "2026-11-26T12:00:00Z"

/** A port of Soft-RoCE: packets and no bytes. */
private fun softRoce(
    packets: Long,
    errors: Long = 0,
) = PortTraffic.of(mapOf("sent_pkts" to packets, "rcvd_pkts" to 2 * packets, "rcvd_seq_err" to errors))

private fun port(
    vararg readings: PortTraffic,
    clock: TimeSource.WithComparableMarks = TimeSource.Monotonic,
) = readings.iterator().let { WatchedPort("rxe0", 1, clock) { it.next() } }

/** The counts of a port that is read, and read again after a time. */
private fun between(
    time: Duration,
    before: PortTraffic,
    after: PortTraffic,
): PortCounts {
    val clock = TestTimeSource()
    val port = port(before, after, clock = clock)
    val first = port.read()
    clock += time
    return PortCounts.between(port, TIME, first, port.read())
}

/** The status and the outputs of the command on a machine without an RDMA device, which this machine can have. */
private fun withoutHardware(vararg words: String): Triple<Int, String, String> {
    val out = StringBuilder()
    val err = StringBuilder()
    val program =
        object : CoreCliktCommand("kverbs") {
            override fun run() = Unit
        }
    program.offer(mapOf("Commands" to listOf("top"))) {
        TopCommand { Device.list().filter { device -> device.provider() == "embedded" } }
    }
    val status = program.answer(listOf("top") + words, screen(out, err))
    return Triple(status, "$out", "$err")
}

internal class TopSpec :
    FunSpec({
        test("should show rates of traffic, counts of faults, and a dash for what the driver does not count") {
            val counts = between(2.seconds, softRoce(1_000, 1), softRoce(3_000_000, 4))
            TopText.row(counts).split(Regex(" +")) shouldContainExactly
                listOf("rxe0/1", "-", "-", "3.00M", "1.50M", "3", "-", "-")
        }

        test("should reckon with the time between a port's own readings, to the nanosecond") {
            val clock = TestTimeSource()
            val counts = listOf(0L, 2L).iterator()
            // Its counters take a second to read at first, and 3 ns later.
            val times = listOf(1.seconds, 3.nanoseconds).iterator()
            val slow =
                WatchedPort("mlx5_0", 1, clock) {
                    clock += times.next()
                    softRoce(counts.next())
                }
            val ports = listOf(port(softRoce(0), softRoce(2), clock = clock), slow)
            val before = ports.map { it.read() }
            clock += 2.seconds
            val after = ports.map { it.read() }
            ports.indices.map { PortCounts.between(ports[it], TIME, before[it], after[it]).seconds } shouldBe
                listOf(3.0, 2.000_000_003)
        }

        test("should count from zero after a reset, and not take a great counter for a negative one") {
            between(1.seconds, softRoce(500), softRoce(20)).sentPackets shouldBe 20u
            val great = PortTraffic.of(mapOf("sent_pkts" to -5L))
            val greater = PortTraffic.of(mapOf("sent_pkts" to -2L))
            between(1.seconds, great, greater).sentPackets shouldBe 3u
            val total = PortCounts.total(port(), TIME, great)
            TopText.csv(total) shouldContain ",18446744073709551611,"
            Json.encodeToString(total) shouldContain "\"sentPackets\":18446744073709551611,"
        }

        test("should leave empty in CSV what the driver does not count, with as many cells as columns") {
            val line = TopText.csv(between(0.5.seconds, softRoce(1), softRoce(3)))
            line shouldBe "$TIME,0.5,rxe0,1,,,4,2,0,,"
            line.split(',').size shouldBe PortCounts.COLUMNS.size
        }

        test("should have the same names in JSON as in CSV") {
            val json = Json.encodeToString(PortCounts.total(port(), TIME, softRoce(1)))
            val snake =
                Json.parseToJsonElement(json).jsonObject.keys.map { key ->
                    key.replace(Regex("[A-Z]")) { "_" + it.value.lowercase() }
                }
            snake shouldContainExactly PortCounts.COLUMNS
        }

        test("should say where to look where no device counts for other processes") {
            for (words in listOf(listOf("--once"), listOf("-d", "embedded0"), listOf("-d", "nope"))) {
                val (status, out, err) = withoutHardware(*words.toTypedArray())
                status shouldBe 1
                err shouldContain "embedded device counts within its own program"
                out.shouldBeEmpty()
            }
        }

        test("should refuse an interval of nothing, no readings, and two forms at once") {
            for (words in listOf("--interval 0", "-n 0", "--csv --json", "--once -n 2", "--once --interval 1")) {
                Outcome("top", *words.split(' ').toTypedArray()).status shouldBe 2
            }
        }

        test("should print a total at once, and a line for each reading") {
            val line = TopText.row(PortCounts.total(port(), TIME, softRoce(12)))
            line.split(Regex(" +"))[4] shouldBe "12"
            TopText.head(isTotal = true) shouldContain "in pkt "
            TopText.head(isTotal = false) shouldContain "in pkt/s"
        }
    })
