package org.kverbs.cli

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.cli.devices.DevicesCommand
import org.kverbs.cli.devinfo.DevInfoCommand
import org.kverbs.cli.file.FileCommand
import org.kverbs.cli.pingpong.PingPongCommand
import org.kverbs.cli.project.NewCommand
import org.kverbs.cli.script.ScriptCommand
import org.kverbs.console.completion
import org.kverbs.console.offer

/** `kverbs` itself: the list of its commands, and the options before a command. */
internal class KverbsCommand : CoreCliktCommand("kverbs") {
    val debug by option("--debug", help = "Show where an error comes from").flag()

    /** The commands under the titles of the help, in its order. */
    private val groups: Map<String, List<CoreCliktCommand>> =
        mapOf(
            "Look at the devices" to listOf(DevicesCommand(), DevInfoCommand()),
            "Try them out" to listOf(PingPongCommand(), FileCommand(), SampleCommand(), LabCommand()),
            "Write programs" to listOf(ScriptCommand(), NewCommand()),
        ).let { it + ("Get help" to listOf(HelpCommand(names(it.values.flatten())), completion("kverbs"))) }

    init {
        offer(groups)
    }

    override fun help(context: Context) = "RDMA for Kotlin and Java: shows this machine's devices, and tries them out."

    override fun run() = Unit

    private companion object {
        fun names(commands: List<CoreCliktCommand>): List<String> = commands.map { it.commandName }
    }
}
