package org.kverbs.ibtool.check

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetFileException
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.loadSubnet
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.readText

/**
 * Reads the topology that a fabric is compared with: what `ibnetdiscover --cache` saved, what `ibnetdiscover` printed,
 * or a net file of ibsim.
 */
internal class ExpectedTopology(
    private val file: Path,
    private val warn: (String) -> Unit,
) {
    suspend fun read(): Subnet =
        try {
            loadSubnet(file)
        } catch (_: SubnetFileException) {
            ofText()
        } catch (e: IOException) {
            refuse(e)
        }

    /** A text is made to a simulated fabric, and that is discovered. */
    private suspend fun ofText(): Subnet {
        val simulation =
            try {
                simulatedFabric { netFile(file.readText(Charsets.ISO_8859_1)) }
            } catch (e: IOException) {
                refuse(e)
            } catch (e: IllegalArgumentException) {
                refuse(e)
            }
        return simulation.use {
            val start = it.hosts.firstOrNull() ?: it.switches.firstOrNull() ?: refuse(null)
            val subnet = it.fabric(start).use { fabric -> fabric.discover() }
            val count = it.hosts.size + it.switches.size + it.routers.size
            val rest = count - subnet.nodes.size
            if (rest >
                0
            ) {
                warn("$rest of $count nodes of ${name()} are not linked with the first host, and are left out")
            }
            subnet
        }
    }

    private fun name() = printable("$file")

    private fun why(e: Exception?): String = if (e is IOException) problemOf(e) else e?.message ?: "it has no nodes"

    private fun refuse(e: Exception?): Nothing =
        throw DiagnosticException(
            "${name()} has no topology that can be read: ${printable(why(e))}",
            DiagnosticException.USAGE,
            e,
        )
}
