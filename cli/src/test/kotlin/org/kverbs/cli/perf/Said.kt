package org.kverbs.cli.perf

import org.kverbs.cli.kverbs
import java.net.ServerSocket
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.random.Random

/** The output and the exit status of one command line. */
internal class Said(
    val status: Int,
    val out: String,
    val err: String,
) {
    /** The figures of the table's rows, as words. */
    val rows: List<List<String>>
        get() =
            out
                .substringAfter("#bytes")
                .lines()
                .drop(1)
                .filter { it.firstOrNull() == ' ' && it.trim().first().isDigit() }
                .map { it.trim().split(Regex(" +")) }

    override fun toString() = "exit status $status\n$out$err"
}

/** Runs `kverbs perf` with these words. */
internal fun perf(words: String): Said {
    val out = StringBuilder()
    val err = StringBuilder()
    val status = kverbs(listOf("perf") + words.split(' '), out, err)
    return Said(status, "$out", "$err")
}

/** A TCP port below those that Linux gives to sockets which name none. */
internal fun freePort() =
    generateSequence { Random.nextInt(20_000, 32_000) }.first { runCatching { ServerSocket(it).close() }.isSuccess }

/**
 * The server's and the client's outcome, each on a thread of its own. They meet at a free port when the server has said
 * that it listens, on either output.
 */
internal fun ends(
    server: String,
    client: String = server,
): Pair<Said, Said> {
    val port = freePort()
    val listening = CompletableFuture<Unit>()

    fun heard(text: StringBuffer) =
        object : Appendable by text {
            override fun append(more: CharSequence?): Appendable =
                apply { if ("listening at" in text.append(more)) listening.complete(Unit) }
        }
    val out = StringBuffer()
    val err = StringBuffer()
    val words = listOf("perf") + server.split(' ') + listOf("-p", "$port")
    val status = CompletableFuture.supplyAsync { kverbs(words, heard(out), heard(err)) }
    CompletableFuture.anyOf(listening, status).get(WAIT_SECONDS, SECONDS)
    val said = perf("$client -p $port 127.0.0.1")
    val theirs = status.get(WAIT_SECONDS, SECONDS)
    return Said(theirs, "$out", "$err") to said
}

private const val WAIT_SECONDS = 60L
