package org.kverbs.management.transport

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.deleteRecursively

/** The library that leads programs of infiniband-diags to ibsim in place of the kernel; empty without it. */
internal val preload: String by lazy {
    Files.walk(Path.of("/usr/lib")).use { files ->
        files
            .filter { it.fileName.toString() == "libumad2sim.so" }
            .findFirst()
            .map(Path::toString)
            .orElse("")
    }
}

/** Runs programs of infiniband-diags and opensm on the fabric that a simulator serves at a UDP port of this machine. */
internal open class IbsimPrograms(
    val port: Int,
) : AutoCloseable {
    protected val folder: Path = Files.createTempDirectory("ibsim")

    /** What smpquery prints, asked by the node with the id [node]. */
    fun smpquery(
        node: String,
        vararg arguments: String,
    ): String = tool(node, "smpquery", *arguments)

    /** What a program of infiniband-diags prints, asked by the node with the id [node]. */
    fun tool(
        node: String,
        vararg command: String,
    ): String {
        val tool = start(node, *command)
        val text = tool.inputReader().readText()
        check(tool.waitFor() == 0) { "${command.first()} ended with ${tool.exitValue()}: $text" }
        return text
    }

    /** Has opensm set up the fabric once. */
    fun sweep(
        node: String,
        portGuid: String = portGuid(node),
    ) {
        val manager = start(node, "opensm", "-f", "$folder/opensm.log", "-g", portGuid, "-o")
        manager.inputReader().readText()
        check(manager.waitFor() == 0) { "opensm ended with ${manager.exitValue()}" }
    }

    /** Starts opensm. The caller ends it. */
    fun opensm(
        node: String,
        vararg options: String,
    ): Process = start(node, "opensm", "-f", "$folder/opensm.log", "-g", portGuid(node), *options)

    private fun portGuid(node: String) = "0x${(node.substringAfter('-').toLong(16) + 1).toString(16)}"

    /** Starts a program that has this fabric for its own. The caller ends it. */
    fun start(
        node: String,
        vararg command: String,
    ): Process {
        val builder = ProcessBuilder(*command).directory(folder.toFile())
        builder.environment() +=
            mapOf(
                "LD_PRELOAD" to preload,
                "IBSIM_SERVER_NAME" to "127.0.0.1",
                "IBSIM_SERVER_PORT" to "$port",
                "SIM_HOST" to node,
                "OSM_TMP_DIR" to "$folder",
                "OSM_CACHE_DIR" to "$folder",
            )
        return builder.redirectError(ProcessBuilder.Redirect.DISCARD).start()
    }

    @OptIn(ExperimentalPathApi::class)
    override fun close() {
        folder.deleteRecursively()
    }
}
