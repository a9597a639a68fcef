package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetFileException
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.loadSubnet
import java.nio.file.Path

/** A command that looks at the whole fabric: it discovers it, or loads what `ibnetdiscover --cache` saved. */
internal abstract class DiscoveringCommand(
    name: String,
    excluded: String = "",
) : DiagnosticCommand(name, excluded) {
    private val loaded by option(
        "--load-cache",
        metavar = "FILE",
        help = "Take a saved topology in place of the fabric",
    ).convert { Path.of(it) }

    /** Whether the topology comes from a file. */
    protected val isLoaded: Boolean get() = loaded != null

    /** The fabric. What is wrong with it goes to standard error. */
    protected suspend fun subnet(session: Session): Subnet =
        loaded?.let(::load)
            ?: session.fabric.discover().also { subnet -> subnet.problems.forEach { session.warn("$it") } }

    /** Loads a saved topology. */
    protected fun load(file: Path): Subnet =
        try {
            loadSubnet(file)
        } catch (e: SubnetFileException) {
            throw DiagnosticException("loading cached fabric failed: ${e.message}", cause = e)
        }
}
