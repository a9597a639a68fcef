package org.kverbs.ibtool.session

import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.core.UsageError
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.transaction.MadException

/**
 * A command that asks a fabric. It has the options that all commands share.
 *
 * @param excluded the letters of shared options that this command does not have, or uses for something else
 */
internal abstract class DiagnosticCommand(
    name: String,
    excluded: String = "",
) : CoreCliktCommand(name) {
    protected val options: CommonOptions = CommonOptions(this, excluded)

    init {
        offerVersion()
    }

    final override fun run() {
        requireDistinctFiles()
        val surroundings = currentContext.findObject<Surroundings>() ?: Surroundings()
        try {
            work(surroundings)
        } catch (e: UsageError) {
            // So that the usage of this command is shown.
            throw e.apply { context = context ?: currentContext }
        } catch (e: ProgramResult) {
            if (surroundings.interrupt?.hasEnded != true) throw e
        }
        if (surroundings.interrupt?.hasEnded == true) {
            warn("$commandName: interrupted; this is what was found so far")
            throw ProgramResult(Interrupt.STATUS)
        }
    }

    private fun work(surroundings: Surroundings) {
        try {
            runBlocking {
                Session(options, { configure() }, surroundings) { warn(it) }.use { session ->
                    finish(session)
                    session.throwLater()
                }
            }
        } catch (e: MadException) {
            explain(e)
            throw e
        } catch (e: DiagnosticException) {
            explain(e)
            throw e
        }
    }

    /** Does the work, and says what went wrong beside it though the work itself ends with another failure. */
    private suspend fun finish(session: Session) {
        var isDone = false
        try {
            execute(session)
            isDone = true
        } finally {
            if (!isDone) session.failure?.let { warn("$commandName: ${it.message}") }
        }
    }

    /** Shows with `-v` what each layer was about when a question failed, and with `-vv` the datagrams, too. */
    private fun explain(e: Exception) {
        if (options.verbose == 0) return
        val cause = generateSequence<Throwable>(e) { it.cause }.firstNotNullOfOrNull { it as? MadException } ?: return
        val lines = cause.dumpDetailed(options.verbose).trimEnd('\n').lines()
        warn(lines.joinToString("\n", transform = ::printable))
    }

    /** Does the work. It prints by [line] and [print]. */
    protected abstract suspend fun execute(session: Session)

    /** Changes the settings of the fabric by options of the command's own. */
    protected open fun FabricBuilder.configure(): Unit = Unit

    protected fun line(text: String = ""): Unit = echo(text)

    protected fun print(text: String): Unit = echo(text, trailingNewline = false)

    protected fun print(json: JsonElement): Unit = echo(pretty(json))

    /** Prints to standard error. Any thread can call it. */
    protected fun warn(text: String): Unit = synchronized(options) { echo(text, err = true) }

    /** Shows the rates between two looks of `--watch`. */
    protected fun showGrowth(growth: CounterGrowth) {
        if (options.json) print(growth.json()) else print("\n${growth.text()}\n")
        flush()
    }

    /** Prints what a run without `--dry-run` would do: `would set ...`, or JSON. */
    protected fun would(text: String): Unit =
        if (options.json) print(JsonObject(mapOf("would" to JsonPrimitive(text)))) else line("would $text")

    /** Shows at once what was printed so far, which standard error does, as it comes behind it. */
    protected fun flush(): Unit = echo("", trailingNewline = false, err = true)
}
