package org.kverbs.ibtool.session

import com.github.ajalt.clikt.core.CoreCliktCommand
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.management.fabric.FabricBuilder

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

    final override fun run() {
        runBlocking { Session(options, { configure() }) { warn(it) }.use { execute(it) } }
    }

    /** Does the work. It prints by [line] and [print]. */
    protected abstract suspend fun execute(session: Session)

    /** Changes the settings of the fabric by options of the command's own. */
    protected open fun FabricBuilder.configure(): Unit = Unit

    protected fun line(text: String = ""): Unit = echo(text)

    protected fun print(text: String): Unit = echo(text, trailingNewline = false)

    protected fun print(json: JsonElement): Unit = echo(pretty.encodeToString(JsonElement.serializer(), json))

    /** Prints what a run without `--dry-run` would do: `would set ...`, or JSON. */
    protected fun would(text: String): Unit =
        if (options.json) print(JsonObject(mapOf("would" to JsonPrimitive(text)))) else line("would $text")

    /** Prints to standard error. */
    protected fun warn(text: String): Unit = echo(text, err = true)

    /** Shows at once what was printed so far, which standard error does, as it comes behind it. */
    protected fun flush(): Unit = echo("", trailingNewline = false, err = true)

    private companion object {
        /** The form of all `--json`: for people, too. */
        private val pretty = Json { prettyPrint = true }
    }
}
