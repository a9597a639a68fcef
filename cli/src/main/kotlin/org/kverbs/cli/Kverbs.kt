package org.kverbs.cli

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.PrintHelpMessage
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.core.parse
import com.github.ajalt.clikt.core.subcommands
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.options.versionOption
import org.kverbs.DeviceNotFoundException
import org.kverbs.RdmaException
import org.kverbs.cli.devices.DevicesCommand
import org.kverbs.cli.devinfo.DevInfoCommand
import org.kverbs.cli.file.FileCommand
import org.kverbs.cli.pingpong.PingPongCommand
import org.kverbs.cli.project.NewCommand
import org.kverbs.cli.script.ScriptCommand
import org.kverbs.cli.script.ScriptException
import java.io.PrintWriter
import java.io.StringWriter
import kotlin.system.exitProcess

/**
 * The subcommands, in the order of the help. They extend [CoreCliktCommand], not Clikt's coloured one, whose look at
 * the terminal loads a native library and doubles the start-up.
 */
private fun commands(): List<CoreCliktCommand> =
    listOf(
        DevicesCommand(),
        DevInfoCommand(),
        PingPongCommand(),
        SampleCommand(),
        FileCommand(),
        ScriptCommand(),
        NewCommand(),
    )

/** `kverbs` itself: what it says about itself, and the options before the subcommand. */
private class KverbsCommand : CoreCliktCommand("kverbs") {
    val debug by option("--debug", help = "Show where an error comes from").flag()

    init {
        versionOption(javaClass.getPackage().implementationVersion ?: "(run from class files, not from its jar)") {
            "kverbs $it"
        }
    }

    override fun help(context: Context) = "RDMA for Kotlin and Java: shows this machine's devices, and tries them out."

    override fun helpEpilog(context: Context) =
        "One more command is the launcher's own: ./kverbs lab 'COMMAND' runs a command in a virtual machine that has " +
            "RDMA devices."

    override fun run() = Unit
}

/** The program: runs [kverbs] and exits with its status. */
fun main(args: Array<String>) {
    exitProcess(kverbs(args.asList()))
}

/**
 * Runs one command line in this process.
 *
 * @param args what stands behind `kverbs`
 * @param out takes what the command has to tell
 * @param err takes errors
 * @return the exit status: 0 if all went well; 1 if the command failed, or there is no device; 2 if the command line is
 *     wrong
 */
fun kverbs(
    args: List<String>,
    out: Appendable = System.out,
    err: Appendable = System.err,
): Int {
    val command = KverbsCommand().subcommands(commands())
    command.configureContext {
        echoMessage = { _, message, newline, isError ->
            (if (isError) err else out).append(message.toString()).append(if (newline) "\n" else "")
        }
    }
    return try {
        command.parse(args)
        0
    } catch (e: CliktError) {
        command.echoFormattedHelp(e)
        if (e is UsageError || (e is PrintHelpMessage && e.error)) WRONG_COMMAND_LINE else e.statusCode
    } catch (e: RdmaException) {
        err.append("kverbs: ").append(answer(e, args).lines().joinToString(" ")).append('\n')
        if (command.debug) err.append(trace(e))
        FAILED
    } catch (e: ScriptException) {
        e.message.lines().forEach { err.append("kverbs: ").append(it).append('\n') }
        if (command.debug) err.append(trace(e.cause ?: e))
        FAILED
    }
}

/** What to tell the user: on a machine without any device that it has none, whatever was asked for. */
private fun answer(
    e: RdmaException,
    args: List<String>,
): String =
    when {
        e !is DeviceNotFoundException -> {
            e.message ?: e.toString()
        }

        e.available().isEmpty() -> {
            "this machine has no RDMA device, and KVERBS_EMBEDDED asks for no embedded one; leave that out, or use " +
                "the lab, a virtual " +
                "machine that has some: ./kverbs lab './kverbs ${args.joinToString(" ")}'"
        }

        else -> {
            "there is no ${e.asked()}; this machine has ${e.available().joinToString(", ")}"
        }
    }

private fun trace(e: Throwable): String = StringWriter().also { e.printStackTrace(PrintWriter(it, true)) }.toString()

private const val FAILED = 1
private const val WRONG_COMMAND_LINE = 2
