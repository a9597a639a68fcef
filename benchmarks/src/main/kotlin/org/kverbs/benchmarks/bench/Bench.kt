package org.kverbs.benchmarks.bench

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import org.kverbs.cli.bench.BenchCommand
import org.kverbs.console.answer
import org.kverbs.console.offer
import org.kverbs.console.screen
import java.io.IOException
import java.nio.file.Path
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.CREATE_NEW
import java.nio.file.StandardOpenOption.TRUNCATE_EXISTING
import java.nio.file.StandardOpenOption.WRITE
import java.time.Duration
import kotlin.io.path.writeText
import kotlin.system.exitProcess

/** `./kverbs bench` of a checkout, as `benchmarks/bench` starts it. */
fun main(args: Array<String>) {
    val kverbs =
        object : CoreCliktCommand("kverbs") {
            override fun run() = Unit
        }
    val isDebug = args.firstOrNull() == "--debug"
    kverbs.offer(mapOf("Commands" to listOf("bench"))) { Bench(isDebug) }
    exitProcess(kverbs.answer(listOf("bench") + args.drop(if (isDebug) 1 else 0), screen(System.out, System.err)))
}

/**
 * Measures the contenders by turns, and tells the figures.
 *
 * @property isDebug show where an error comes from
 */
internal class Bench(
    private val isDebug: Boolean = false,
) : BenchCommand() {
    private val names = CONTENDERS.map { it.name }

    override fun run() {
        if (isGate) wrong("--gate", "give it alone")
        only.forEach { if (it !in names) wrong("--only", "$it is none of ${names.joinToString()}") }
        if (isWritten && only.isNotEmpty()) wrong("--write", "the pages have all of them: leave out --only")
        requireFreeJson()
        val chosen = CONTENDERS.filter { only.isEmpty() || it.name in only }
        if (isList) {
            val width = chosen.maxOf { it.name.length }
            chosen.forEach { contender ->
                val missing = contender.obstacle()?.let { ": $it" }.orEmpty()
                echo("${contender.name.padEnd(width)}  ${contender.title}$missing")
            }
            return
        }
        val (able, unable) = chosen.partition { it.obstacle() == null }
        unable.forEach { echo("kverbs: left out: ${it.name}: ${it.obstacle()}", err = true) }
        if (able.isEmpty()) throw CliktError("kverbs: this machine can measure none of them")
        requireAll(unable)
        val all = Rounds(able, Duration.ofMillis(time.toLong()))
        val figures = all.run(rounds)
        report(Report(Machine.now(), figures, all.handovers))
    }

    /** Refuses to write pages that lose rows: only those of an RDMA device come from another machine. */
    private fun requireAll(unable: List<Contender>) {
        val lost = unable.map { it.name }.filter { it !in OF_A_DEVICE }
        if (isWritten && lost.isNotEmpty()) {
            wrong("--write", "the pages have all of them, and this machine can't measure ${lost.joinToString()}")
        }
    }

    private fun report(report: Report) {
        echo(report.text())
        try {
            // Another program can have made the file meanwhile.
            val how = if (isForced) arrayOf(CREATE, TRUNCATE_EXISTING, WRITE) else arrayOf(CREATE_NEW, WRITE)
            json?.let { Path.of(it).writeText(report.json(), options = how) }
            if (report.failed.isNotEmpty()) throw CliktError("kverbs: ${report.failed.joinToString()} failed")
            if (isWritten) Pages(Path.of(System.getProperty("kverbs.root"))).write(report)
        } catch (e: IOException) {
            unwritten(e)
        } catch (e: BenchException) {
            unwritten(e)
        }
    }

    private fun unwritten(e: Exception): Nothing {
        if (isDebug) echo(e.stackTraceToString(), err = true)
        throw CliktError("kverbs: can't write the figures: ${e.message}", e)
    }

    private fun wrong(
        option: String,
        reason: String,
    ): Nothing = throw UsageError("invalid value for $option: $reason").also { it.context = currentContext }
}
