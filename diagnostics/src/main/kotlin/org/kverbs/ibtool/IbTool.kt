package org.kverbs.ibtool

import com.github.ajalt.clikt.core.obj
import org.kverbs.RdmaException
import org.kverbs.console.answer
import org.kverbs.console.complain
import org.kverbs.console.screen
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Interrupt
import org.kverbs.ibtool.session.Progress
import org.kverbs.ibtool.session.StandardOutput
import org.kverbs.ibtool.session.Surroundings
import org.kverbs.ibtool.session.Terminals
import org.kverbs.ibtool.session.problemOf
import org.kverbs.management.transaction.MadException
import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.IOException
import java.io.PrintStream
import java.nio.charset.CharacterCodingException
import java.nio.file.FileSystemException
import kotlin.system.exitProcess

private const val BUFFER = 1 shl 16
private const val OUTPUT = 1

/** The program: runs [ibtool] and exits with its status. */
fun main(args: Array<String>) {
    val standard = StandardOutput(FileOutputStream(FileDescriptor.out))
    // Only System.out itself is taken for a terminal. A file or a pipe gets large pieces.
    val out =
        if (Terminals.has(OUTPUT)) System.out else PrintStream(standard.buffered(BUFFER), false, Charsets.UTF_8)
    // Ctrl-C prints what was found so far.
    Runtime.getRuntime().addShutdownHook(Thread(out::flush))
    val status = ibtool(args.asList(), out, System.err, Surroundings(Progress.ofProgram(), Interrupt()))
    out.flush()
    exitProcess(standard.status(status) { System.err.println("ibtool: $it") })
}

/**
 * Runs one command line in this process.
 *
 * @param args the words behind `ibtool`; without any it lists the commands
 * @param out receives the results
 * @param err receives the errors
 * @return the exit status: 0 if all went well, 2 if the command line is wrong, 130 if the thread was interrupted, whose
 *   flag is set then, and what infiniband-diags returns otherwise: 255 or 1
 */
fun ibtool(
    args: List<String>,
    out: Appendable = System.out,
    err: Appendable = System.err,
): Int = ibtool(args, out, err, Surroundings())

/** Runs one command line with what it may use of the process. */
internal fun ibtool(
    args: List<String>,
    out: Appendable,
    err: Appendable,
    surroundings: Surroundings,
): Int {
    val screen = screen(out, err)

    fun failed(
        e: Exception,
        status: Int = failure(args),
    ): Int {
        val text = (if (e is IOException) ofFile(e) else e.message)?.lines()?.joinToString(" ") ?: e.toString()
        screen.complain("${args.first()}: $text")
        return status
    }
    return try {
        val command = args.firstOrNull()
        // Behind a word that is no command nothing can be understood.
        val isCommand = command == null || command.startsWith('-') || command in Commands.groups.values.flatten()
        val words = if (isCommand) args else args.take(1)
        IbToolCommand(command).apply { configureContext { obj = surroundings } }.answer(words, screen)
    } catch (e: DiagnosticException) {
        failed(e, e.status)
    } catch (e: MadException) {
        failed(e)
    } catch (e: RdmaException) {
        failed(e)
    } catch (e: IOException) {
        failed(e)
    } catch (_: OutOfMemoryError) {
        screen.complain("${args.first()}: out of memory; KVERBS_JAVA_OPTIONS=-Xmx4g gives more")
        failure(args)
    } catch (e: IllegalArgumentException) {
        // A number of the command line that a field of a datagram does not take.
        failed(e, DiagnosticException.USAGE)
    } catch (_: InterruptedException) {
        Thread.currentThread().interrupt()
        Interrupt.STATUS
    } catch (
        @Suppress("TooGenericExceptionCaught") e: Throwable,
    ) {
        screen.complain("${args.first()}: a fault of ibtool itself; please report it\n${e.stackTraceToString()}")
        failure(args)
    }
}

/** What went wrong with a file: some exceptions of the JDK say its name alone. */
private fun ofFile(e: IOException): String =
    when (e) {
        is FileSystemException -> "${e.file}: ${problemOf(e)}"
        is CharacterCodingException -> "a file is not text in UTF-8: ${e.message}"
        else -> problemOf(e)
    }

/** The exit status of a command that could not do its work. Monitoring knows that of `health` for UNKNOWN. */
private fun failure(args: List<String>): Int =
    if (args.firstOrNull() ==
        "health"
    ) {
        UNKNOWN
    } else {
        DiagnosticException.FAILED
    }

private const val UNKNOWN = 3
