package org.kverbs.ibtool

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.PrintHelpMessage
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.core.parse
import com.github.ajalt.clikt.core.terminal
import com.github.ajalt.mordant.rendering.Whitespace
import com.github.ajalt.mordant.terminal.Terminal
import org.kverbs.RdmaException
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.management.transaction.MadException
import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.IOException
import java.io.PrintStream
import kotlin.system.exitProcess

private const val BUFFER = 1 shl 16

/** The program: runs [ibtool] and exits with its status. */
fun main(args: Array<String>) {
    val out = PrintStream(FileOutputStream(FileDescriptor.out).buffered(BUFFER), false, Charsets.UTF_8)
    // Ctrl-C prints what was found so far.
    Runtime.getRuntime().addShutdownHook(Thread(out::flush))
    val status = ibtool(args.asList(), out, System.err)
    out.flush()
    exitProcess(status)
}

/**
 * Runs one command line in this process.
 *
 * @param args the words behind `ibtool`; without any it lists the commands
 * @param out receives the results
 * @param err receives the errors
 * @return the exit status: 0 if all went well, 2 if the command line is wrong, and what infiniband-diags returns
 *   otherwise: 255 or 1
 */
fun ibtool(
    args: List<String>,
    out: Appendable = System.out,
    err: Appendable = System.err,
): Int {
    val command = IbToolCommand()
    val screen = screen(out, err)
    command.configureContext { terminal = screen }
    return try {
        command.parse(args.ifEmpty { listOf("--help") })
        0
    } catch (e: CliktError) {
        command.echoFormattedHelp(e)
        if (e is UsageError || (e is PrintHelpMessage && e.error)) WRONG_COMMAND_LINE else e.statusCode
    } catch (e: DiagnosticException) {
        screen.complain(args, e)
        e.status
    } catch (e: MadException) {
        screen.complain(args, e)
        FAILED
    } catch (e: RdmaException) {
        screen.complain(args, e)
        FAILED
    } catch (e: IOException) {
        screen.complain(args, e)
        FAILED
    }
}

/** Prints an error in one line: on a terminal wrapped between words. */
private fun Terminal.complain(
    args: List<String>,
    e: Exception,
) {
    val text = e.message?.lines()?.joinToString(" ") ?: e.toString()
    println(
        "${args.first()}: $text",
        if (terminalInfo.outputInteractive) Whitespace.PRE_WRAP else Whitespace.PRE,
        stderr = true,
    )
}

private const val FAILED = 255
private const val WRONG_COMMAND_LINE = 2
