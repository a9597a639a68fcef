package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.GroupableOption
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.types.enum
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.DiscoveryKind
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.discover
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.management.path.directed
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetFileException
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.SubnetProblemKind
import org.kverbs.management.subnet.loadSubnet
import org.kverbs.management.subnet.save
import org.kverbs.management.transaction.MadException
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.exists

/**
 * A command that looks at the whole fabric: it discovers it, or takes what was saved before.
 *
 * @param hasCache whether it has `--cache` and `--refresh-cache`. `ibnetdiscover` has a `--cache` of its own.
 */
internal abstract class DiscoveringCommand(
    name: String,
    excluded: String = "",
    hasCache: Boolean = true,
) : DiagnosticCommand(name, excluded) {
    private val loaded by option(
        "--load-cache",
        metavar = "FILE",
        help = "Take a saved topology in place of the fabric",
    ).convert { Path.of(it) }
    private val kind by option(
        "--discovery",
        metavar = "DR|LID|SA",
        help = "Ask by directed routes, by LIDs, or the subnet administrator alone; DR, or with --sa SA",
    ).enum<DiscoveryKind>()
    private val cacheOption =
        option("--cache", metavar = "FILE", help = "Take the topology of this file; write it if it is not there")
            .convert { Path.of(it) }
            .takeIf { hasCache }
            ?.also { registerOption(it as GroupableOption) }
    private val refreshOption =
        option("--refresh-cache", help = "Discover the fabric all the same, and write the file of --cache")
            .flag()
            .takeIf { hasCache }
            ?.also { registerOption(it as GroupableOption) }

    /** Whether the topology comes from the file of `--load-cache`. */
    protected val isLoaded: Boolean get() = loaded != null

    /** Refuses options that say where the topology comes from, of a command line that takes none, as [why] says. */
    protected fun refuseTopology(why: String) {
        if (loaded != null || cacheOption?.value != null || refreshOption?.value == true || kind != null) {
            throw UsageError("$why: leave out --load-cache, --cache, --refresh-cache and --discovery")
        }
    }

    /**
     * The fabric. What is wrong with it goes to standard error if [warns].
     *
     * @param isAsked whether the command goes on to ask or to change the fabric, which a file of another one misleads
     */
    protected suspend fun subnet(
        session: Session,
        warns: Boolean = true,
        isAsked: Boolean = false,
    ): Subnet {
        val cache = cacheOption?.value
        val isRefreshed = refreshOption?.value == true
        if (loaded != null && cache != null) throw UsageError("give --load-cache or --cache, not both")
        if (isRefreshed && cache == null) throw UsageError("--refresh-cache needs --cache FILE, which it writes anew")
        loaded?.let { return if (isAsked) loadOfHere(session, "--load-cache", it) else load(it) }
        if (cache != null && !isRefreshed && cache.exists()) return cached(session, cache)
        cache?.let { OutputFile.checked("--cache", it) }
        val subnet = session.discover(kind ?: if (options.sa) DiscoveryKind.SA else DiscoveryKind.DR)
        if (warns) subnet.problems.filterNot { it.kind == SubnetProblemKind.STOPPED }.forEach { session.warn("$it") }
        cache?.let { save(session, subnet, "--cache", it) }
        return subnet
    }

    /** Saves a topology to the file that [option] names, if it is whole. */
    protected fun save(
        session: Session,
        subnet: Subnet,
        option: String,
        file: Path,
    ) {
        if (subnet.problems.any { it.kind == SubnetProblemKind.STOPPED }) {
            session.warn("$option ${printable("$file")} is not written: the discovery was interrupted")
        } else {
            try {
                OutputFile.writing(option, file) { subnet.save(OutputFile.checked(option, it)) }
            } catch (e: DiagnosticException) {
                session.failLater(e)
            }
        }
    }

    /** Loads a saved topology. */
    protected fun load(file: Path): Subnet =
        try {
            loadSubnet(file)
        } catch (e: SubnetFileException) {
            throw DiagnosticException("loading cached fabric failed: ${printable("$file")}: ${e.message}", cause = e)
        } catch (e: IOException) {
            val text = "loading cached fabric failed: ${printable("$file")}: ${problemOf(e)}"
            throw DiagnosticException(text, cause = e)
        }

    /** Loads a saved topology, if that was saved at the port which this command asks by. [option] names the file. */
    protected suspend fun loadOfHere(
        session: Session,
        option: String,
        file: Path,
    ): Subnet {
        val subnet = load(file)
        val why = foreign(session, subnet) ?: return subnet
        throw DiagnosticException("$option ${printable("$file")}: $why; this command asks the fabric itself")
    }

    /** Loads what `--cache` saved, if that was at the port which this command asks by. */
    private suspend fun cached(
        session: Session,
        file: Path,
    ): Subnet {
        val subnet =
            try {
                loadSubnet(file)
            } catch (e: SubnetFileException) {
                throw stale(file, "${e.message}", e)
            } catch (e: IOException) {
                throw DiagnosticException("--cache ${printable("$file")} cannot be read: ${problemOf(e)}", cause = e)
            }
        foreign(session, subnet)?.let { throw stale(file, it) }
        return subnet
    }

    /** Why a saved topology does not fit the port which this command asks by; null if it fits. */
    private suspend fun foreign(
        session: Session,
        subnet: Subnet,
    ): String? {
        val here = session.fabric.port().node.portGUID
        val start = subnet.here?.guid
        return when {
            subnet.port(here) == null -> "it is of another fabric, as port $here is not in it"
            start != here -> "its paths begin at port $start, and not at port $here, which is asked by"
            else -> foreignPeer(session, checkNotNull(subnet.here))
        }
    }

    /** The same of the node at the other end of this port's cable. */
    private suspend fun foreignPeer(
        session: Session,
        here: SubnetPort,
    ): String? {
        val saved = here.peer?.node ?: return null
        val there =
            try {
                session.fabric.get<NodeInfo>(directed(0, here.number))
            } catch (e: MadException) {
                return "port ${here.guid} led to ${saved.guid}, and nothing answers there now: ${e.message}"
            }
        if (there.nodeGUID == saved.guid && there.numPorts == saved.portCount) return null
        return "port ${here.guid} led to ${saved.guid} with ${saved.portCount} ports, and leads to ${there.nodeGUID} " +
            "with ${there.numPorts} now"
    }

    private fun stale(
        file: Path,
        why: String,
        cause: Exception? = null,
    ) = DiagnosticException("--cache ${printable("$file")}: $why; --refresh-cache writes it anew", cause = cause)
}
