package org.kverbs.cli.script

import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.multiple
import java.nio.file.Path
import kotlin.io.path.isReadable
import kotlin.io.path.isRegularFile

/** `kverbs script`: runs a Kotlin script with kverbs in its class path. */
class ScriptCommand : CoreCliktCommand("script") {
    private val file by argument("FILE", help = "The script; its name ends with .main.kts")
    private val arguments by argument("ARGS", help = "What the script finds in args").multiple()

    init {
        configureContext { allowInterspersedArgs = false } // what looks like an option behind FILE is the script's
    }

    override fun help(context: Context) =
        """
        Run a Kotlin script that may use kverbs' builders, coroutines and embedded devices, without importing them.

        openDevice() takes RDMA hardware if there is any, and else an embedded device.

        The first start compiles the script, which takes several seconds. Only @file:DependsOn needs the network.
        """.trimIndent()

    override fun run() {
        val path = Path.of(file)
        if (!path.isRegularFile() || !path.isReadable()) wrong("there is no file to read at $file")
        if (!file.endsWith(SUFFIX)) wrong("the name of a script ends with $SUFFIX, and $file does not")
        val hasCompiler = javaClass.getResource(COMPILER) != null
        if (!hasCompiler) throw CliktError("kverbs: this needs Kotlin's compiler, which ./kverbs script brings along")
        Script(path, ::tellCompiling).run(arguments)
    }

    private fun tellCompiling() {
        if (System.console()?.isTerminal == true) {
            echo("kverbs: compiling $file, which takes several seconds", err = true)
        }
    }

    private fun wrong(message: String): Nothing = throw UsageError(message, "FILE").also { it.context = currentContext }

    private companion object {
        const val SUFFIX = ".main.kts"
        const val COMPILER = "/org/jetbrains/kotlin/mainKts/MainKtsScript.class"
    }
}
