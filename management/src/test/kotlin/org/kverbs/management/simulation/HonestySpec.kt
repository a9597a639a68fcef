package org.kverbs.management.simulation

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.directed
import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.MlnxExtPortInfo
import org.kverbs.management.structures.MulticastForwardingTable
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.SLtoVLMappingTable
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.VLArbitrationTable
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibsim
import org.kverbs.structures.Structure
import org.kverbs.structures.copy

/**
 * Where answers differ from those of ibsim 0.10, and why.
 *
 * - `SwitchInfo.linearFDBCap`: ibsim has room for 30720 LIDs, and reads behind its table above them. Newer ones have
 *   49152, as here.
 * - `PortInfo.gidPrefix`: ibsim clears the default prefix fe80:: until a manager sets one.
 * - Requests for tables of ports that a node has not: ibsim reads wherever the number leads, and can end. The status is
 *   0x1c here. They are not asked.
 * - Attributes that no agent has: ibsim says that it lost the request. The status is 0x0c here, as IBA 13.4.7 has it.
 *   So is that of a Set of what can only be read, which ibsim calls a method without support (0x08).
 * - Fields of PortInfo that ibsim does not keep: the management key, the neighbour's MTU, SL of the manager, the high
 *   limit and others are kept here, and the key protects the port.
 * - A LID routed SMP passes links in the state Initialize, as IBA has it; ibsim wants them Active.
 * - An adapter sends a directed route by the port that the program opened, and by no other.
 * - Combined routes (drSLID, drDLID) are led; ibsim drops them.
 * - A link whose physical state is set to Disabled goes down at both ends; in ibsim it stays.
 */
private fun <S : Structure> S.withoutDifferences(): S =
    copy {
        if (this is SwitchInfo) linearFDBCap = 0
        if (this is PortInfo) gidPrefix = 0
    }

/** What a question brings: an answer, a status, or nothing. */
internal suspend fun <S : Structure> said(question: suspend () -> S): String =
    try {
        question().withoutDifferences().toString()
    } catch (e: MadStatusException) {
        "status ${e.status}"
    } catch (e: MadException) {
        e.javaClass.simpleName
    }

/** All that can be asked of the node at the end of a path. */
private suspend fun Fabric.everything(path: DirectedPath): List<Pair<String, String>> {
    val node = get<NodeInfo>(path)
    val ports = (0..node.numPorts + 1).toList() + 255
    val answers = mutableListOf("NodeInfo" to "$node")

    suspend fun <S : Structure> ask(
        name: String,
        question: suspend () -> S,
    ) {
        answers += name to said(question)
    }
    ask("NodeDescription") { get<NodeDescription>(path) }
    ask("SwitchInfo") { get<SwitchInfo>(path) }
    for (port in ports) {
        ask("PortInfo $port") { get<PortInfo>(path, port) }
        // Of all else, ibsim reads wherever the number leads.
        if (port > node.numPorts) continue
        ask("MlnxExtPortInfo $port") { get<MlnxExtPortInfo>(path, port) }
        for (block in 0..2) ask("PKeyTable $port, $block") { get<PKeyTable>(path, (port shl 16) + block) }
        for (part in 0..5) ask("VLArbitration $port, $part") { get<VLArbitrationTable>(path, (part shl 16) + port) }
        ask("SLtoVL 1, $port") { get<SLtoVLMappingTable>(path, (1 shl 8) + port) }
        ask("SLtoVL $port, 1") { get<SLtoVLMappingTable>(path, (port shl 8) + 1) }
    }
    for (block in listOf(0, 1, 100, 768, 100_000)) {
        ask("GUIDInfo $block") { get<GUIDInfo>(path, block) }
        ask("LFT $block") { get<LinearForwardingTable>(path, block) }
        ask("MFT $block") { get<MulticastForwardingTable>(path, block) }
        ask("MFT 1, $block") { get<MulticastForwardingTable>(path, (1 shl 28) + block) }
    }
    return answers
}

/** A path to each node, and the port of each that it arrives at. */
private suspend fun Fabric.routes(): List<DirectedPath> {
    val found = linkedMapOf(get<NodeInfo>(directed(0)).nodeGUID to directed(0))
    val open = ArrayDeque(listOf(directed(0)))
    while (open.isNotEmpty()) {
        val path = open.removeFirst()
        val node = get<NodeInfo>(path)
        if (node.nodeType != NodeType.SWITCH && path.length > 0) continue
        val ports = if (path.length == 0) node.localPortNum..node.localPortNum else 1..node.numPorts
        for (port in ports) {
            if (get<PortInfo>(path, port).portState == PortState.DOWN) continue
            val next = path + port
            if (found.putIfAbsent(get<NodeInfo>(next).nodeGUID, next) == null) open += next
        }
    }
    return found.values.toList()
}

private val small = checkNotNull(HonestySpec::class.java.getResource("/small.net")).readText()

class HonestySpec :
    FunSpec({
        val fabrics =
            mapOf(
                "small.net" to Triple(small, "H-0002c90200000030", Int.MAX_VALUE),
                "108 hosts" to Triple(simulatedFabric { hosts(108) }.netFile(), "H-50", 20),
                "a torus of other speeds" to
                    Triple(
                        simulatedFabric {
                            speed(SimulatedSpeed.FDR10)
                            torus(3, 3, hosts = 2)
                        }.netFile(),
                        "H-3",
                        10,
                    ),
            )

        suspend fun both(
            net: Triple<String, String, Int>,
            body: suspend (theirs: Fabric, ours: Fabric) -> Unit,
        ) {
            val (file, here) = net
            Ibsim(file).use { simulator ->
                fabric(IbsimTransport.connect(port = simulator.port, node = here)) { retries(0) }.use { theirs ->
                    simulatedFabric { netFile(file) }.use { simulation ->
                        simulation.fabric(here, 1) { retries(0) }.use { ours -> body(theirs, ours) }
                    }
                }
            }
        }

        for ((name, net) in fabrics) {
            test("should answer as ibsim, of $name").config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
                both(net) { theirs, ours ->
                    val routes = theirs.routes()
                    routes.size shouldBeGreaterThan 4
                    ours.routes() shouldBe routes
                    for (path in routes.take(net.third)) {
                        val expected = theirs.everything(path)
                        val found = ours.everything(path)
                        withClue(path) {
                            found
                                .filterIndexed {
                                    index,
                                    answer,
                                    ->
                                    answer != expected[index]
                                }.shouldBeEmpty()
                        }
                    }
                }
            }
        }
    })
