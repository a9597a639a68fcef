package org.kverbs.cli

import org.kverbs.DeviceNotFoundException
import org.kverbs.RdmaException
import org.kverbs.cli.script.ScriptException
import org.kverbs.console.answer
import org.kverbs.console.complain
import org.kverbs.console.screen
import java.io.PrintWriter
import java.io.StringWriter
import kotlin.system.exitProcess

/** The program: runs [kverbs] and exits with its status. */
fun main(args: Array<String>) {
    exitProcess(kverbs(args.asList()))
}

/**
 * Runs one command line in this process.
 *
 * @param args the words behind `kverbs`; without any it lists the commands
 * @param out receives the results; colours and the width of the terminal only if this is [System.out] and a terminal
 * @param err receives the errors
 * @return the exit status: 0 if all went well; 1 if the command failed, or there is no device; 2 if the command line is
 *   wrong
 */
fun kverbs(
    args: List<String>,
    out: Appendable = System.out,
    err: Appendable = System.err,
): Int {
    val word = args.firstOrNull { it != "--debug" }
    // Help knows all commands.
    val command = KverbsCommand(only = word?.takeIf { it != "help" })
    val screen = screen(out, err)
    return try {
        command.answer(args, screen)
    } catch (e: RdmaException) {
        screen.complain("kverbs: " + answer(e, args).lines().joinToString(" "))
        if (command.debug) screen.complain(trace(e))
        FAILED
    } catch (e: ScriptException) {
        e.message.lines().forEach { screen.complain("kverbs: $it") }
        if (command.debug) screen.complain(trace(e.cause ?: e))
        FAILED
    }
}

/** Returns the text for the user. On a machine without any device it says so, for each command. */
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
                "the lab, a virtual machine that has some: ./kverbs lab './kverbs ${args.joinToString(" ")}'"
        }

        else -> {
            "there is no ${e.asked()}; this machine has ${e.available().joinToString(", ")}"
        }
    }

private fun trace(e: Throwable): String =
    StringWriter().also { e.printStackTrace(PrintWriter(it, true)) }.toString().trimEnd()

private const val FAILED = 1
