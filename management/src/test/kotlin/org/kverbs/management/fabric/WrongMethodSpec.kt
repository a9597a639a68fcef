package org.kverbs.management.fabric

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.Job
import org.jetbrains.kotlin.cli.common.arguments.K2JVMCompilerArguments
import org.jetbrains.kotlin.cli.common.messages.CompilerMessageSeverity
import org.jetbrains.kotlin.cli.common.messages.CompilerMessageSourceLocation
import org.jetbrains.kotlin.cli.common.messages.MessageCollector
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler
import org.jetbrains.kotlin.config.Services
import org.kverbs.attributes.Gid
import org.kverbs.management.structures.NodeInfo
import org.kverbs.structures.Structure
import java.io.File
import java.nio.file.Path

private val classPath =
    listOf(Fabric::class, NodeInfo::class, Structure::class, Gid::class, Job::class, Unit::class)
        .map { Path.of(it.java.protectionDomain.codeSource.location.toURI()) }
        .distinct()
        .joinToString(":")

/** Collects the compiler's errors. */
private class Errors : MessageCollector {
    val texts = mutableListOf<String>()

    override fun clear() = texts.clear()

    override fun hasErrors() = texts.isNotEmpty()

    override fun report(
        severity: CompilerMessageSeverity,
        message: String,
        location: CompilerMessageSourceLocation?,
    ) {
        if (severity.isError) texts += message
    }
}

/** Compiles one call on a fabric, and returns the errors. */
private fun errorsOf(
    call: String,
    folder: File,
): List<String> {
    val source = folder.resolve("Call.kt")
    source.writeText(
        """
        import org.kverbs.management.fabric.Fabric
        import org.kverbs.management.path.directed
        import org.kverbs.management.structures.*

        suspend fun ask(fabric: Fabric) { $call }
        """.trimIndent(),
    )
    val errors = Errors()
    val arguments =
        K2JVMCompilerArguments().apply {
            freeArgs = listOf("$source")
            classpath = classPath
            destination = folder.resolve("classes").path
            noStdlib = true
            noReflect = true
            jvmTarget = "25"
        }
    K2JVMCompiler().exec(errors, Services.EMPTY, arguments)
    return errors.texts
}

/** A call that must not compile, and one of the same shape that must. */
private val cases =
    listOf(
        "fabric.set(directed(0), NodeInfo())" to "fabric.set(directed(0), NodeDescription())",
        "fabric.get<MADHeader>(directed(0))" to "fabric.get<NodeInfo>(directed(0))",
        "fabric.get(SMPFormat, directed(0))" to "fabric.get(NodeInfo, directed(0))",
    )

class WrongMethodSpec :
    FunSpec({
        val folder = tempdir()

        for ((wrong, right) in cases) {
            test("should not compile $wrong") {
                val errors = errorsOf(wrong, folder)
                errors.shouldNotBeEmpty()
                withClue(errors) { errors.any { "Takes" in it || "bound" in it } shouldBe true }
            }

            test("should compile $right") { errorsOf(right, folder).shouldBeEmpty() }
        }
    })
