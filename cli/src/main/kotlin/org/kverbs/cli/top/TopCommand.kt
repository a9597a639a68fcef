package org.kverbs.cli.top

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.core.terminal
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.Json
import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.DevicePort
import org.kverbs.cli.deviceOption
import org.kverbs.cli.wrong
import java.time.Instant
import java.time.temporal.ChronoUnit
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration

/** `kverbs top`: what each port of this machine carries, again and again. */
internal class TopCommand(
    private val devices: () -> List<Device> = { Device.list() },
) : CoreCliktCommand("top") {
    private val device by deviceOption("Watch this device alone, or one port of it, as rxe0/1")
    private val once by option("--once", help = "Print the counts since the driver was loaded, once").flag()
    private val interval by option("--interval", metavar = "SECONDS", help = "Between two readings (2)")
        .convert { text -> seconds(text) }
    private val count by option("-n", "--count", metavar = "N", help = "Readings to print; no end without it")
        .convert { text -> requireNotNull(text.toLongOrNull()?.takeIf { it > 0 }) { "give 1 or more" } }
    private val json by option("--json", help = "Print a line of JSON for each port and reading").flag()
    private val csv by option("--csv", help = "Print CSV").flag()

    private fun seconds(text: String): Duration {
        val value = requireNotNull(text.toDoubleOrNull()?.takeIf { it in SHORTEST..LONGEST }) { "give 0.01 to 86400" }
        return value.seconds
    }

    override fun help(context: Context) =
        """
        Watch the ports of this machine: bytes and packets a second, errors, discards, congestion.

        Errors, discards and marks are those since the last reading. A dash stands for what the driver does not count. On
        a terminal each table takes the place of the last one; elsewhere each reading adds lines. Ctrl-C ends it.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          kverbs top
          kverbs top --once --json | jq .receivedPackets
          kverbs top --interval 10 --csv > ports.csv
        """.trimIndent()

    override fun run() {
        if (json && csv) wrong("--csv", "--json is another form; give one of the two")
        if (once && count != null) wrong("--count", "--once prints one reading; leave out one of the two")
        if (once && interval != null) wrong("--interval", "--once has no second reading; leave out one of the two")
        val ports = ports()
        val isScreen = currentContext.terminal.terminalInfo.outputInteractive && !json && !csv
        if (once) {
            val time = now()
            print(ports.map { PortCounts.total(it, time, it.read().traffic) }, isFirst = true, isScreen = false)
        } else {
            watch(ports, isScreen)
        }
    }

    private fun watch(
        ports: List<WatchedPort>,
        isScreen: Boolean,
    ) {
        var before = ports.map { it.read() }
        for (reading in 0 until (count ?: Long.MAX_VALUE)) {
            Thread.sleep((interval ?: PAUSE).toJavaDuration())
            val after = ports.map { it.read() }
            val time = now()
            val counts = ports.mapIndexed { i, port -> PortCounts.between(port, time, before[i], after[i]) }
            print(counts, isFirst = reading == 0L, isScreen)
            before = after
            if (System.out.checkError()) return // the reader of the pipe has ended
        }
    }

    private fun now(): String = Instant.now().truncatedTo(ChronoUnit.MILLIS).toString()

    /** The ports to watch. Embedded devices are left out: their counters are those of the process that they are in. */
    private fun ports(): List<WatchedPort> {
        val all = devices().filter { it.provider() != EMBEDDED }
        val asked = device
        val found =
            when {
                asked == null || all.isEmpty() -> all.flatMap(WatchedPort::of)
                all.any { it.name() == asked } -> all.filter { it.name() == asked }.flatMap(WatchedPort::of)
                else -> search(asked, all).takeIf { it.device().provider() != EMBEDDED }.let(::only)
            }
        if (found.isNotEmpty()) return found
        echo(
            "kverbs: no device of this machine counts for other processes. An embedded device counts within its own " +
                "program: read Device.counters there, or publish them (docs/observability.md). The lab has devices " +
                "to watch: ./kverbs lab './kverbs top --once'",
            err = true,
        )
        throw ProgramResult(1)
    }

    /** Finds a device or port by any of its names; the error names the devices that can be watched. */
    private fun search(
        asked: String,
        watchable: List<Device>,
    ): DevicePort =
        try {
            DevicePort.find(asked)
        } catch (e: DeviceNotFoundException) {
            throw DeviceNotFoundException(e.asked(), watchable.map { it.name() }).apply { initCause(e) }
        }

    private fun only(port: DevicePort?): List<WatchedPort> =
        if (port == null) emptyList() else WatchedPort.of(port.device()).filter { it.port == port.port() }

    private fun print(
        counts: List<PortCounts>,
        isFirst: Boolean,
        isScreen: Boolean,
    ) {
        val lines =
            when {
                json -> counts.map { Json.encodeToString(it) }
                csv -> listOfNotNull(PortCounts.COLUMNS.joinToString(",").takeIf { isFirst }) + counts.map(TopText::csv)
                else -> listOfNotNull(TopText.head(once).takeIf { isFirst || isScreen }) + counts.map(TopText::row)
            }
        echo((if (isScreen) CLEAR else "") + lines.joinToString("\n"))
    }

    private companion object {
        private const val EMBEDDED = "embedded"
        private val PAUSE = 2.seconds
        private const val SHORTEST = 0.01
        private const val LONGEST = 86_400.0

        /** Moves the cursor to the left upper corner, and clears what is behind it. */
        private const val CLEAR = "\u001b[H\u001b[J"
    }
}
