package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.cli.kverbs

private const val DEVICE = "rxe0"

/**
 * A test that both programs run.
 *
 * @property program perftest's
 * @property test ours
 * @property options of both
 */
private class Both(
    val program: String,
    val test: String,
    val iterations: Int,
    val options: String,
) {
    fun theirs(
        port: Int,
        vararg server: String,
    ) = CProgram(program, "-d", DEVICE, "-F", "-n", "$iterations", "-p", "$port", *words(), *server)

    fun ours(
        port: Int,
        way: String,
        vararg server: String,
    ): Pair<Int, String> {
        val out = StringBuffer()
        val ways = if (way.isEmpty()) emptyList() else listOf(way)
        val meeting = listOf("--perftest", "-d", DEVICE, "-p", "$port", "--timeout", "30")
        val words = listOf("perf", test, "-n", "$iterations") + meeting + words() + ways + server
        return kverbs(words, out, out) to "$out"
    }

    private fun words() = options.split(' ').filter { it.isNotEmpty() }.toTypedArray()

    override fun toString() = "$program $options".trim()
}

private val ROW = Regex("\\n ([0-9]+) +([0-9]+) +[0-9.]+ ")

/** Both ends have printed a row, if they have one, and ended well. */
private fun shouldHaveMeasured(
    ours: Pair<Int, String>,
    theirs: Pair<Int, String>,
) = withClue("${ours.second}\n${theirs.second}") {
    ours.first shouldBe 0
    theirs.first shouldBe 0
    val rows = listOf(ours, theirs).mapNotNull { ROW.find(it.second)?.destructured?.toList() }
    rows.distinct().size shouldBe 1
}

/** `kverbs perf --perftest` with perftest's programs as its peers, on a real device. */
internal class PerftestSpec :
    FunSpec({
        val tests =
            listOf(
                Both("ib_write_lat", "write-lat", 100, ""),
                Both("ib_send_lat", "send-lat", 100, "-s 1024"),
                Both("ib_read_lat", "read-lat", 100, "-s 64"),
                Both("ib_atomic_lat", "atomic-lat", 100, ""),
                Both("ib_write_bw", "write-bw", 200, "-s 1024"),
                Both("ib_send_bw", "send-bw", 200, "-s 4096"),
                Both("ib_read_bw", "read-bw", 200, "-s 4096"),
                Both("ib_atomic_bw", "atomic-bw", 200, ""),
                Both("ib_write_bw", "write-bw", 200, "-s 4096 -q 2"),
                Both("ib_write_bw", "write-bw", 200, "-s 4096 -b"),
                Both("ib_send_bw", "send-bw", 200, "-s 4096 -b"),
            )

        for (both in tests) {
            for (way in listOf("", "--poll")) {
                val name = if (way.isEmpty()) "suspending" else "polling"
                test("should be the client of $both, $name") {
                    val port = freePort()
                    both.theirs(port).use { server ->
                        awaitListener(port)
                        val ours = both.ours(port, way, "127.0.0.1")
                        shouldHaveMeasured(ours, server.end())
                    }
                }

                test("should be the server of $both, $name") {
                    val port = freePort()
                    val server = inThread { both.ours(port, way) }
                    awaitListener(port)
                    both.theirs(port, "127.0.0.1").use { client ->
                        val theirs = client.end()
                        shouldHaveMeasured(server.join(), theirs)
                    }
                }
            }
        }

        test("should name --perftest when the peer is a program of perftest") {
            val port = freePort()
            Both("ib_write_lat", "write-lat", 100, "").theirs(port).use {
                awaitListener(port)
                val out = StringBuilder()
                kverbs(listOf("perf", "write-lat", "-d", DEVICE, "-p", "$port", "127.0.0.1"), out, out) shouldBe 1
                "$out" shouldContain "it is a program of perftest: give --perftest"
            }
        }
    })
