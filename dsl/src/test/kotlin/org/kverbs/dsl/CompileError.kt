package org.kverbs.dsl

import org.jetbrains.kotlin.cli.common.arguments.K2JVMCompilerArguments
import org.jetbrains.kotlin.cli.common.messages.CompilerMessageSeverity
import org.jetbrains.kotlin.cli.common.messages.CompilerMessageSourceLocation
import org.jetbrains.kotlin.cli.common.messages.MessageCollector
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler
import org.jetbrains.kotlin.config.Services
import org.kverbs.Context
import java.nio.file.Path
import kotlin.io.path.createTempDirectory
import kotlin.io.path.writeText

/** An error of the compiler. */
internal data class CompileError(
    val file: String,
    val line: Int,
    val text: String,
)

/** Compiles sources by name against the DSL, the core and the standard library in one run, and returns all errors. */
internal fun compile(sources: Map<String, String>): List<CompileError> {
    val folder = createTempDirectory("snippets")
    try {
        val errors = mutableListOf<CompileError>()
        val arguments =
            K2JVMCompilerArguments().apply {
                freeArgs =
                    sources.map { (name, text) -> folder.resolve("$name.kt").apply { writeText(text) }.toString() }
                classpath =
                    listOf(RC::class, Context::class, Unit::class).joinToString(":") { it.java.origin().toString() }
                destination = folder.resolve("classes").toString()
                noStdlib = true
                noReflect = true
                jvmTarget = "25"
            }
        K2JVMCompiler().exec(collector(errors), Services.EMPTY, arguments)
        return errors
    } finally {
        folder.toFile().deleteRecursively()
    }
}

private fun Class<*>.origin() = Path.of(protectionDomain.codeSource.location.toURI())

private fun collector(errors: MutableList<CompileError>) =
    object : MessageCollector {
        override fun clear() = errors.clear()

        override fun hasErrors() = errors.isNotEmpty()

        override fun report(
            severity: CompilerMessageSeverity,
            message: String,
            location: CompilerMessageSourceLocation?,
        ) {
            if (!severity.isError) return
            val file = location?.let { Path.of(it.path).fileName.toString() }.orEmpty()
            errors += CompileError(file.removeSuffix(".kt"), location?.line ?: 0, message)
        }
    }
