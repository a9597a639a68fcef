package org.kverbs.ibtool.session

import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.SimulatedFabricBuilder
import org.kverbs.management.simulation.simulatedFabric
import java.nio.file.Path
import kotlin.io.path.isRegularFile
import kotlin.io.path.readText

/** What `--fabric` names: a net file, or a generator with its numbers. */
internal object Generated {
    private const val FORMS = "give a net file, fat-tree:K, hosts:N, torus:N,N,... or dragonfly:GROUPS,SWITCHES,HOSTS"

    /** Makes the fabric, with a subnet manager at its first host. */
    fun fabric(text: String): SimulatedFabric =
        try {
            simulatedFabric {
                add(text)
                subnetManager()
            }
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("--fabric ${printable(text)}: ${e.message}", DiagnosticException.USAGE, cause = e)
        } catch (e: IllegalStateException) {
            // More ports than a subnet has LIDs.
            throw DiagnosticException("--fabric ${printable(text)}: ${e.message}", DiagnosticException.USAGE, cause = e)
        }

    private fun SimulatedFabricBuilder.add(text: String) {
        if (Path.of(text).isRegularFile()) {
            netFile(Path.of(text).readText())
            return
        }
        val numbers = text.substringAfter(':', "").split(',').map { it.toIntOrNull() ?: -1 }
        require(numbers.all { it >= 0 }) { "there is no such file; $FORMS" }
        when (text.substringBefore(':') to numbers.size) {
            "fat-tree" to 1 -> {
                fatTree(numbers[0])
            }

            "fat-tree" to 2 -> {
                fatTree(numbers[0], numbers[1])
            }

            "hosts" to 1 -> {
                hosts(numbers[0])
            }

            "dragonfly" to 3 -> {
                dragonfly(numbers[0], numbers[1], numbers[2])
            }

            else -> {
                require(text.startsWith("torus:")) { "there is no such file or generator; $FORMS" }
                torus(*numbers.toIntArray())
            }
        }
    }
}
