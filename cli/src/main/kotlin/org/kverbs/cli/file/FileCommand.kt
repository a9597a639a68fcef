package org.kverbs.cli.file

import com.github.ajalt.clikt.completion.CompletionCandidates
import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import me.tongfei.progressbar.ConsoleProgressBarConsumer
import me.tongfei.progressbar.ProgressBar
import me.tongfei.progressbar.ProgressBarBuilder
import org.kverbs.cli.deviceOption
import org.kverbs.cli.wrong
import org.kverbs.samples.both
import java.io.IOException
import java.io.PrintStream
import java.nio.file.Path
import java.util.Locale
import kotlin.io.path.exists
import kotlin.io.path.fileSize
import kotlin.io.path.isDirectory
import kotlin.io.path.isReadable
import kotlin.io.path.isRegularFile
import kotlin.io.path.isSameFileAs
import kotlin.io.path.name
import kotlin.time.Duration
import kotlin.time.DurationUnit.SECONDS

/** `kverbs file`: copies a file by RDMA, from a client to a server in this process. */
class FileCommand : CoreCliktCommand("file") {
    private val source by argument("FROM", help = "The file to send", completionCandidates = CompletionCandidates.Path)
    private val target by argument(
        "TO",
        help = "The file, or an existing folder, to receive it",
        completionCandidates = CompletionCandidates.Path,
    )
    private val device by deviceOption("RDMA device (default the first)")
    private val progress by option("--progress", help = "Show a bar even if standard error is no terminal").flag()

    override fun help(context: Context) =
        """
        Copy a file by RDMA, and measure it.

        A client and a server run in this process. The client writes pieces of 1 MiB into the server's memory, eight at
        a time, and both compare checksums at the end. For programs on two machines there are the functions sendFile and
        fileServer.

        It treats TO as cp does: links are followed, an existing file keeps its mode and its hard links, a new file gets
        the mode of FROM. It writes to regular files only.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          kverbs file movie.mkv /tmp
          kverbs file movie.mkv copy.mkv -d rxe0
        """.trimIndent()

    override fun run() {
        val from = Path.of(source)
        if (!from.isRegularFile() || !from.isReadable()) wrong("FROM", "there is no file to read at $source")
        val to = Path.of(target).let { if (it.isDirectory()) it.resolve(from.name) else it }
        if (!to.toAbsolutePath().parent.isDirectory()) wrong("TO", "there is no folder ${to.toAbsolutePath().parent}")
        if (to.exists() && to.isSameFileAs(from)) wrong("TO", "it is the same file as FROM")
        try {
            TargetFile(to)
        } catch (e: IOException) {
            wrong("TO", reason(e))
        }
        try {
            // The server's failures are told by its client, here.
            both(
                device,
                { name, onListening -> fileServer(to, 0, name, onListening, onFailure = {}) },
            ) { host, port, name ->
                val size = from.fileSize()
                val took =
                    if (progress || System.console()?.isTerminal == true) {
                        bar(from.name, size, System.err).use { bar ->
                            sendFile(from, host, port, name) { bar.stepTo(it) }
                        }
                    } else {
                        sendFile(from, host, port, name)
                    }
                echo(summary(name, size, took))
            }
        } catch (e: IOException) {
            throw CliktError("kverbs: ${e.message}", e)
        }
    }

    private fun summary(
        name: String,
        size: Long,
        took: Duration,
    ): String {
        val seconds = took.toDouble(SECONDS)
        return "%s: %d bytes in %.2f seconds = %.1f MB/s, checksums agree".format(
            Locale.ROOT,
            name,
            size,
            seconds,
            size / seconds / 1e6,
        )
    }

    private companion object {
        const val MIB = 1L shl 20
        const val WIDTH = 80

        fun bar(
            name: String,
            size: Long,
            out: PrintStream,
        ): ProgressBar =
            ProgressBarBuilder()
                .setTaskName(name)
                .setInitialMax(size)
                .setUnit(" MiB", MIB)
                .showSpeed()
                .setConsumer(ConsoleProgressBarConsumer(out, WIDTH))
                .build()
    }
}
