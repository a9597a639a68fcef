package org.kverbs.acceptance.docs

import org.kverbs.acceptance.SHORT_RUN
import java.io.ByteArrayOutputStream
import java.nio.file.Path
import javax.tools.ToolProvider
import kotlin.io.path.createDirectories
import kotlin.io.path.div
import kotlin.io.path.writeText

private val classPath: String = System.getProperty("java.class.path")
private val jvm: String = System.getProperty("java.home") + "/bin/java"

/** The class path of Kotlin's compiler, in a JVM of its own: another library here has some of its classes, too. */
private val compiler: String =
    classPath
        .split(':')
        .filter {
            Regex(
                "kotlin-(compiler-embeddable|stdlib|script-runtime|reflect)-|kotlinx-coroutines-core-jvm-|annotations-",
            ).containsMatchIn(it)
        }.joinToString(":")

/** The result of compiling sources: their classes in [folder], or the messages of the compilers. */
internal class Compiled(
    private val folder: Path,
    val errors: String,
) {
    /** A JVM that runs a class of the sources, or a tool with them on its class path. */
    fun java(
        mainClass: String,
        arguments: List<String> = emptyList(),
        environment: Map<String, String> = emptyMap(),
    ): Process =
        ProcessBuilder(
            listOf(jvm, "--enable-native-access=ALL-UNNAMED") + SHORT_RUN +
                listOf("-cp", "$folder:$classPath", mainClass) + arguments,
        ).redirectErrorStream(true).apply { environment().putAll(environment) }.start()

    companion object {
        /** Compiles files of Kotlin and Java, by name, against the class path of this test. */
        fun of(
            sources: Map<String, String>,
            into: Path,
        ): Compiled {
            val classes = (into / "classes").createDirectories()
            val files = sources.map { (name, text) -> (into / name).apply { writeText(text) } }
            val (kotlin, java) = files.partition { "$it".endsWith(".kt") }
            val said = ByteArrayOutputStream()
            if (kotlin.isNotEmpty()) {
                val options =
                    listOf(
                        "-no-stdlib",
                        "-no-reflect",
                        "-nowarn",
                        "-jvm-target",
                        "25",
                        "-cp",
                        classPath,
                        "-d",
                        "$classes",
                    )
                val main = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"
                val quiet = listOf("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow")
                val command = listOf(jvm) + quiet + SHORT_RUN + listOf("-cp", compiler, main)
                val process = ProcessBuilder(command + options + kotlin.map { "$it" }).redirectErrorStream(true).start()
                process.inputStream.transferTo(said)
                process.waitFor()
            }
            if (java.isNotEmpty()) {
                val options = listOf("-cp", classPath, "-d", "$classes")
                val javac = ToolProvider.getSystemJavaCompiler()
                javac.run(null, said, said, *(options + java.map { "$it" }).toTypedArray())
            }
            return Compiled(classes, said.toString())
        }
    }
}
