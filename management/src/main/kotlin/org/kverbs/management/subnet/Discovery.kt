package org.kverbs.management.subnet

import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Job
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.MlnxExtPortInfo
import org.kverbs.management.structures.MlnxLinkSpeed
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortCapabilityMask2
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.times
import org.kverbs.management.transaction.whereAnswersArrive
import org.kverbs.structures.Structure
import org.kverbs.structures.TakesGet
import org.kverbs.structures.structureTypeOf
import java.util.concurrent.atomic.AtomicInteger

private val upStates = setOf(PortState.INIT, PortState.ARMED, PortState.ACTIVE)

/**
 * Asks for the nodes of a fabric. One question is one entry of a queue, which as many coroutines empty as requests can
 * be outstanding. So neither the coroutines nor the time depend on how the questions depend on each other.
 */
internal class Discovery(
    private val answers: Answers,
    private val found: FoundSubnet,
    private val stop: Job? = null,
    private val progress: ((DiscoveryProgress) -> Unit)? = null,
) {
    private val questions = Channel<suspend () -> Unit>(Channel.UNLIMITED)
    private val open = AtomicInteger()
    private val timeouts = AtomicInteger()
    private val telling = Mutex()
    private var told = 0

    /** Without a buffer: the discovery runs no further ahead of [progress] than the questions that are outstanding. */
    private val news = Channel<DiscoveryProgress>()

    /**
     * Asks until there is nothing more to ask, and calls [last] then, before the subnet is built. If [stop] completes
     * earlier, the subnet has what was found until then.
     */
    suspend fun run(last: () -> Unit = {}): Subnet {
        val answer = answers.first()
        val first =
            checkNotNull(found.enter(answer, null)) { "the port of the fabric says what cannot be: $answer" }
        coroutineScope {
            launch { for (state in news) progress?.invoke(state) }
            whereAnswersArrive { askAll(first) }
            news.close()
        }
        if (open.get() == 0) {
            last()
        } else {
            found.dropUnread(first.port.node)
            found.report(SubnetProblemKind.STOPPED, null, "the discovery was stopped")
        }
        return found.build(first.port)
    }

    private suspend fun askAll(first: Arrival) =
        coroutineScope {
            tell(newNodes = 1)
            visit(first)
            // Where answers come at once, a worker that starts can do all the work before the next line.
            val workers =
                List(answers.atOnce) {
                    launch(start = CoroutineStart.LAZY) {
                        for (question in questions) {
                            question()
                            if (open.decrementAndGet() == 0) questions.close()
                        }
                    }
                }
            val end = stop?.invokeOnCompletion { workers.forEach(Job::cancel) }
            try {
                workers.forEach(Job::start)
                workers.joinAll()
            } finally {
                end?.dispose() // or else a program's long-lived job keeps a discovery that failed
            }
        }

    private fun ask(question: suspend () -> Unit) {
        open.incrementAndGet()
        questions.trySend(question)
    }

    private fun visit(arrival: Arrival) {
        val port = arrival.port
        val node = port.node
        if (arrival.isNewNode) {
            ask { get<NodeDescription>(node.ports[0] ?: port) { node.description = it } }
            // What a switch can do is written at its port 0, which must be known before its other ports.
            if (node.isSwitch) {
                ask { get<SwitchInfo>(node.ports[0] ?: port) { node.switchInfo = it } }
                ask { visitSwitch(node) }
            }
        }
        if (!node.isSwitch && arrival.isNewPort) ask { visitPort(port, port) }
    }

    private suspend fun visitSwitch(node: FoundNode) {
        val management = checkNotNull(node.ports[0])
        get<PortInfo>(management, 0) { management.info = it }
        for (number in 1..node.info.numPorts) {
            val port = checkNotNull(node.ports[number])
            ask { visitPort(port, management) }
        }
    }

    private suspend fun visitPort(
        port: FoundPort,
        capable: FoundPort,
    ) {
        val info = get<PortInfo>(port, port.number) { port.info = it } ?: return
        val isUp = info.portPhysicalState == PortPhysicalState.LINK_UP || info.portState in upStates
        if (!isUp) return
        val node = port.node
        if (hasExtended(capable)) ask { get<PortInfoExtended>(port, port.number) { port.extended = it } }
        if (Fdr10.isPossible(node.info, info)) ask { fdr10(port) }
        val leadsOn = if (node.cameBy == null) node.isSwitch || port.number == node.arrival else node.isSwitch
        val leadsBack = node.cameBy != null && port.number == node.arrival
        if (leadsOn && !leadsBack) ask { probe(port) }
    }

    private fun hasExtended(port: FoundPort): Boolean {
        val info = port.info?.let { PortInfo.at(it) } ?: return false
        return PortCapabilityMask.IsCapabilityMask2Supported in info.capabilityMask &&
            PortCapabilityMask2.IsPortInfoExtendedSupported in info.capabilityMask2
    }

    private suspend fun fdr10(port: FoundPort) {
        get<MlnxExtPortInfo>(port, port.number) {
            val info = MlnxExtPortInfo.at(it)
            val knows = if (MlnxLinkSpeed.FDR10 in info.linkSpeedSupported) SubnetData.KNOWS_FDR10 else 0
            val runs = if (MlnxLinkSpeed.FDR10 in info.linkSpeedActive) SubnetData.RUNS_FDR10 else 0
            port.flags = port.flags or knows or runs
        }
    }

    private suspend fun probe(port: FoundPort) {
        if (port.node.distance >= DirectedPath.MAX_HOPS) {
            found.report(SubnetProblemKind.TOO_FAR, port, "no directed path is long enough for what is behind it")
            return
        }
        val answer = asked(port, "what is behind this port") { answers.behind(port) } ?: return
        val arrival = found.enter(answer, port) ?: return
        visit(arrival)
        if (arrival.isNewNode) tell(newNodes = 1)
    }

    private suspend inline fun <reified S> get(
        port: FoundPort,
        modifier: Int = 0,
        crossinline keep: (ByteArray) -> Unit,
    ): S? where S : Structure, S : TakesGet {
        val type = structureTypeOf<S>()
        val answer = asked(port, type.name) { answers.get(type, port, modifier) } ?: return null
        found.update { keep(answer.bytes()) }
        return answer
    }

    /** Asks; what goes wrong with one question is reported, and does not end the discovery. */
    private suspend inline fun <T> asked(
        port: FoundPort,
        what: String,
        question: () -> T,
    ): T? =
        try {
            question()
        } catch (e: MadTimeoutException) {
            timeouts.incrementAndGet()
            val came = if (e.strays > 0) "; ${e.strays} datagrams came that are no answer" else ""
            val text = "no answer to $what: ${e.path}, sent ${times(e.attempts)}$came"
            found.report(SubnetProblemKind.NO_ANSWER, port, text)
            tell()
            null
        } catch (e: MadClosedException) {
            throw e
        } catch (e: MadException) {
            found.report(SubnetProblemKind.REFUSED, port, "$what: ${e.message}")
            null
        } catch (e: NoRecordException) {
            found.report(SubnetProblemKind.NO_ANSWER, port, "the subnet administrator has no ${e.message}")
            null
        }

    /** Each node raises the number by one, so that a caller that waits for a number meets it. */
    private suspend fun tell(newNodes: Int = 0) {
        if (progress == null) return
        telling.withLock {
            told += newNodes
            news.send(DiscoveryProgress(told, open.get(), timeouts.get()))
        }
    }
}
