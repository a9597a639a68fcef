package org.kverbs.cli.top

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import org.kverbs.PortTraffic
import org.kverbs.cli.Outcome

private const val TIME = "2026-11-26T12:00:00Z"

/** A port of Soft-RoCE: packets and no bytes. */
private fun softRoce(
    packets: Long,
    errors: Long = 0,
) = PortTraffic.of(mapOf("sent_pkts" to packets, "rcvd_pkts" to 2 * packets, "rcvd_seq_err" to errors))

private fun port(vararg readings: PortTraffic) = readings.iterator().let { WatchedPort("rxe0", 1) { it.next() } }

internal class TopSpec :
    FunSpec({
        test("should show rates of traffic, counts of faults, and a dash for what the driver does not count") {
            val counts = PortCounts.between(port(), TIME, 2.0, softRoce(1_000, 1), softRoce(3_000_000, 4))
            TopText.row(counts).split(Regex(" +")) shouldContainExactly
                listOf("rxe0/1", "-", "-", "3.00M", "1.50M", "3", "-", "-")
        }

        test("should count from zero after a reset, and not take a great counter for a negative one") {
            PortCounts.between(port(), TIME, 1.0, softRoce(500), softRoce(20)).sentPackets shouldBe 20
            val great = PortTraffic.of(mapOf("sent_pkts" to -5L))
            val greater = PortTraffic.of(mapOf("sent_pkts" to -2L))
            PortCounts.between(port(), TIME, 1.0, great, greater).sentPackets shouldBe 3
            TopText.csv(PortCounts.total(port(), TIME, great)) shouldContain ",18446744073709551611,"
        }

        test("should leave empty in CSV what the driver does not count, with as many cells as columns") {
            val line = TopText.csv(PortCounts.between(port(), TIME, 0.5, softRoce(1), softRoce(3)))
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
            for (words in listOf(listOf("--once"), listOf("-d", "embedded0"))) {
                val outcome = Outcome("top", *words.toTypedArray())
                outcome.status shouldBe 1
                outcome.err shouldContain "embedded device counts within its own program"
                outcome.out.shouldBeEmpty()
            }
        }

        test("should refuse an interval of nothing, no readings, and two forms at once") {
            for (words in listOf("--interval 0", "-n 0", "--csv --json")) {
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
