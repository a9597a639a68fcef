package org.kverbs.cli.script

import kotlinx.coroutines.runBlocking
import org.jetbrains.kotlin.mainKts.MainKtsEvaluationConfiguration
import org.jetbrains.kotlin.mainKts.MainKtsScript
import org.kverbs.RdmaException
import java.io.File
import java.nio.file.Path
import kotlin.io.path.name
import kotlin.script.experimental.api.ResultValue
import kotlin.script.experimental.api.ResultWithDiagnostics
import kotlin.script.experimental.api.ScriptDiagnostic.Severity
import kotlin.script.experimental.api.ScriptEvaluationConfiguration
import kotlin.script.experimental.api.defaultImports
import kotlin.script.experimental.api.valueOrNull
import kotlin.script.experimental.host.toScriptSource
import kotlin.script.experimental.jvm.BasicJvmScriptEvaluator
import kotlin.script.experimental.jvm.baseClassLoader
import kotlin.script.experimental.jvm.impl.KJvmCompiledScript
import kotlin.script.experimental.jvm.jvm
import kotlin.script.experimental.jvm.jvmTarget
import kotlin.script.experimental.jvm.mainArguments
import kotlin.script.experimental.jvm.updateClasspath
import kotlin.script.experimental.jvmhost.JvmScriptCompiler
import kotlin.script.experimental.jvmhost.createJvmCompilationConfigurationFromTemplate
import kotlin.script.experimental.jvmhost.loadScriptFromJar
import kotlin.script.experimental.jvmhost.saveToJar

/** Kotlin's own scripting, for `.main.kts`. Its libraries are in the class path of `kverbs script` only. */
internal object ScriptHost {
    init {
        // Turns off main-kts' own cache in the user's home: it compares only the scripts' text, and so keeps compiled
        // scripts after kverbs has changed.
        System.setProperty("kotlin.main.kts.compiled.scripts.cache.dir", "")
    }

    /** Throws [ScriptException] with all that is wrong with the script. */
    fun compile(
        file: Path,
        classPath: List<File>,
        jar: Path,
    ) {
        val configuration =
            createJvmCompilationConfigurationFromTemplate<MainKtsScript> {
                defaultImports(*IMPORTED)
                jvm {
                    updateClasspath(classPath)
                    jvmTarget("25") // kverbs' own: inline functions are taken into no older code
                }
            }
        val result = runBlocking { JvmScriptCompiler()(file.toFile().toScriptSource(), configuration) }
        val script = result.valueOrNull() ?: throw ScriptException(errors(file, result))
        (script as KJvmCompiledScript).saveToJar(jar.toFile())
    }

    /** Runs what [compile] left; throws [ScriptException] with what the script threw. */
    fun run(
        file: Path,
        jar: Path,
        arguments: List<String>,
    ) {
        val script = checkNotNull(jar.toFile().loadScriptFromJar()) { "$jar is no compiled script; delete it" }
        val configuration =
            ScriptEvaluationConfiguration(MainKtsEvaluationConfiguration) {
                jvm {
                    mainArguments(arguments.toTypedArray())
                    baseClassLoader(ScriptHost::class.java.classLoader)
                }
            }
        val result = runBlocking { BasicJvmScriptEvaluator()(script, configuration) }
        val value = result.valueOrNull()?.returnValue ?: throw ScriptException(errors(file, result))
        if (value is ResultValue.Error) throw failure(file, value.error)
    }

    private fun failure(
        file: Path,
        error: Throwable,
    ): ScriptException {
        val line = error.stackTrace.firstOrNull { it.fileName == file.name }?.let { ":${it.lineNumber}" }.orEmpty()
        val what = if (error is RdmaException) error.message else error.toString()
        return ScriptException("$file$line: $what", error)
    }

    private fun errors(
        file: Path,
        result: ResultWithDiagnostics<*>,
    ): String =
        // A library that can't be had is a warning to Kotlin, and all that says why the script was not compiled.
        listOf(Severity.ERROR, Severity.WARNING)
            .map { severity -> result.reports.filter { it.severity == severity } }
            .first { it.isNotEmpty() }
            .joinToString("\n") { report ->
                val at = report.location?.start?.let { ":${it.line}:${it.col}" }.orEmpty()
                "$file$at: ${report.message.substringBefore(RESOLVER)}"
            }

    /** The imports that every script has. */
    private val IMPORTED =
        arrayOf(
            "org.kverbs.*",
            "org.kverbs.attributes.*",
            "org.kverbs.cm.*",
            "org.kverbs.dsl.*",
            "org.kverbs.coroutines.*",
            "kotlinx.coroutines.*",
        )

    /** From here on the message about a library is repeated with the resolver's exceptions. */
    private const val RESOLVER = ": org.jetbrains.kotlin.org.eclipse.aether."
}
