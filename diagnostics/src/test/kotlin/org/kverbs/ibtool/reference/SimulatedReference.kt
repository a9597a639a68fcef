package org.kverbs.ibtool.reference

import org.kverbs.management.simulation.SimulatedFabric
import java.nio.file.Files
import kotlin.io.path.ExperimentalPathApi
import kotlin.io.path.deleteRecursively

/** infiniband-diags and ibtool on a simulated fabric of this process: it has what ibsim does not. */
internal class SimulatedReference(
    private val simulation: SimulatedFabric,
    here: String,
) : AutoCloseable {
    private val folder = Files.createTempDirectory("ibtool-simulated")
    private val programs = Preloaded(simulation.serveIbsim().port, here, folder)

    /** The words of a command line, in which the LID of a node stands for its name. */
    fun words(line: String): Array<String> =
        line.split(' ').map { if (nodeName.matches(it)) lid(it) else it }.toTypedArray()

    private fun lid(node: String): String =
        simulation
            .fabric(node)
            .use { it.port().info.lid }
            .toString()

    /** Runs a program of infiniband-diags. */
    fun reference(vararg command: String): Answer = programs.reference(*command)

    /** Runs the same command of ibtool. */
    fun ibtool(vararg command: String): Answer = programs.ibtool(*command)

    /** What the programs have printed to standard error so far. */
    fun errors(): String = programs.errors()

    @OptIn(ExperimentalPathApi::class)
    override fun close() {
        programs.close()
        folder.deleteRecursively()
    }

    private companion object {
        private val nodeName = Regex("[HS]-\\d+")
    }
}
