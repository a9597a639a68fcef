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
import java.time.Duration
import kotlin.io.path.exists
import kotlin.io.path.isDirectory
import kotlin.io.path.writeText
import kotlin.system.exitProcess

/** `./kverbs bench` of a checkout, as `benchmarks/bench` starts it. */
fun main(args: Array<String>) {
    val kverbs =
        object : CoreCliktCommand("kverbs") {
            override fun run() = Unit
        }
    kverbs.offer(mapOf("Commands" to listOf("bench"))) { Bench() }
    exitProcess(kverbs.answer(listOf("bench") + args, screen(System.out, System.err)))
}

/** Measures the contenders by turns, and tells the figures. */
internal class Bench : BenchCommand() {
    private val names = CONTENDERS.map { it.name }

    override fun run() {
        if (isGate) wrong("--gate", "give it alone")
        only.forEach { if (it !in names) wrong("--only", "$it is none of ${names.joinToString()}") }
        if (isWritten && only.isNotEmpty()) wrong("--write", "the pages have all of them: leave out --only")
        json?.let { requireFree(Path.of(it).toAbsolutePath()) }
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
        val figures = Rounds(able, Duration.ofMillis(time.toLong())).run(rounds)
        report(Report(Machine.now(), figures))
    }

    private fun report(report: Report) {
        echo(report.text())
        try {
            json?.let { Path.of(it).writeText(report.json()) }
            if (report.failed.isNotEmpty()) throw CliktError("kverbs: ${report.failed.joinToString()} failed")
            if (isWritten) Pages(Path.of(System.getProperty("kverbs.root"))).write(report)
        } catch (e: IOException) {
            throw CliktError("kverbs: can't write the figures: ${e.message}", e)
        } catch (e: BenchException) {
            throw CliktError("kverbs: can't write the figures: ${e.message}", e)
        }
    }

    private fun requireFree(path: Path) {
        when {
            path.isDirectory() -> wrong("--json", "$path is a folder")
            !path.parent.isDirectory() -> wrong("--json", "there is no folder ${path.parent}")
            path.exists() && !isForced -> wrong("--json", "there is a file $path; give --force to replace it")
        }
    }

    private fun wrong(
        option: String,
        reason: String,
    ): Nothing = throw UsageError("invalid value for $option: $reason").also { it.context = currentContext }
}
