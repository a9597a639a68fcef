package org.kverbs.structures.generator

import kotlinx.serialization.json.JsonObject
import org.jetbrains.kotlin.cli.common.arguments.K2JVMCompilerArguments
import org.jetbrains.kotlin.cli.common.messages.CompilerMessageSeverity
import org.jetbrains.kotlin.cli.common.messages.CompilerMessageSourceLocation
import org.jetbrains.kotlin.cli.common.messages.MessageCollector
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler
import org.jetbrains.kotlin.config.Services
import org.kverbs.attributes.Gid
import org.kverbs.structures.Structure
import java.nio.file.Path

private val classPath =
    listOf(Structure::class, Gid::class, JsonObject::class, Unit::class).joinToString(":") {
        Path.of(it.java.protectionDomain.codeSource.location.toURI()).toString()
    }

/** Compiles all Kotlin below [sources] into [classes] with warnings as errors, and returns what the compiler said. */
internal fun compile(
    sources: Path,
    classes: Path,
): List<String> {
    val said = mutableListOf<String>()
    val arguments =
        K2JVMCompilerArguments().apply {
            freeArgs = listOf("$sources")
            classpath = classPath
            destination = "$classes"
            noStdlib = true
            noReflect = true
            jvmTarget = "25"
            explicitApi = "strict"
        }
    val collector =
        object : MessageCollector {
            override fun clear() = said.clear()

            override fun hasErrors() = said.isNotEmpty()

            override fun report(
                severity: CompilerMessageSeverity,
                message: String,
                location: CompilerMessageSourceLocation?,
            ) {
                if (severity.isError || severity.isWarning) {
                    said += "${location?.path?.substringAfterLast('/')}:${location?.line}: $message"
                }
            }
        }
    K2JVMCompiler().exec(collector, Services.EMPTY, arguments)
    return said
}
