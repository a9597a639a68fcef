package org.kverbs.cli

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.cli.bench.BenchCommand
import org.kverbs.cli.devices.DevicesCommand
import org.kverbs.cli.devinfo.DevInfoCommand
import org.kverbs.cli.file.FileCommand
import org.kverbs.cli.perf.PerfCommand
import org.kverbs.cli.pingpong.PingPongCommand
import org.kverbs.cli.project.NewCommand
import org.kverbs.cli.script.ScriptCommand
import org.kverbs.cli.top.TopCommand
import org.kverbs.console.completion
import org.kverbs.console.offer

/**
 * `kverbs` itself: the list of its commands, and the options before a command.
 *
 * @param only the one command that will be needed, if it is known
 */
internal class KverbsCommand(
    only: String? = null,
) : CoreCliktCommand("kverbs") {
    val debug by option("--debug", help = "Show where an error comes from").flag()

    init {
        offer(GROUPS, only) { name ->
            when (name) {
                "devices" -> DevicesCommand()
                "devinfo" -> DevInfoCommand()
                "top" -> TopCommand()
                "pingpong" -> PingPongCommand()
                "perf" -> PerfCommand()
                "bench" -> BenchCommand()
                "file" -> FileCommand()
                "sample" -> SampleCommand()
                "lab" -> LabCommand()
                "script" -> ScriptCommand()
                "new" -> NewCommand()
                "help" -> HelpCommand(GROUPS.values.flatten() - ofHelp)
                else -> completion("kverbs")
            }
        }
    }

    override fun help(context: Context) = "RDMA for Kotlin and Java: shows this machine's devices, and tries them out."

    override fun run() = Unit

    private companion object {
        private val ofHelp = listOf("help", "completion")

        /** The commands under the titles of the help, in its order. */
        private val GROUPS =
            mapOf(
                "Look at the devices" to listOf("devices", "devinfo", "top"),
                "Try them out" to listOf("pingpong", "perf", "file", "sample", "bench", "lab"),
                "Write programs" to listOf("script", "new"),
                "Get help" to ofHelp,
            )
    }
}
