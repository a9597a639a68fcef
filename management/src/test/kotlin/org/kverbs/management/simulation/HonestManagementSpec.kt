package org.kverbs.management.simulation

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortCountersExtended
import org.kverbs.management.structures.PortFlowCtlCounters
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortOpRcvCounters
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortRcvErrorDetails
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.PortVLOpData
import org.kverbs.management.structures.PortVLOpPackets
import org.kverbs.management.structures.PortVLXmitFlowCtlUpdateErrors
import org.kverbs.management.structures.PortVLXmitWaitCounters
import org.kverbs.management.structures.PortXmitDiscardDetails
import org.kverbs.management.structures.SLtoVLMappingTable
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.structures.VLArbitrationTable
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibsim
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.copy

private const val HERE = "H-0002c90200000030"
private const val GID_PREFIX = 0xfe80L shl 48
private val small = checkNotNull(HonestySpec::class.java.getResource("/small.net")).readText()

/** The nodes of small.net from [HERE] on: the path to each, its LID, and the ports that have links. */
private class Place(
    val path: DirectedPath,
    val lid: Int,
    val ports: List<Int>,
    val isSwitch: Boolean,
    val outputs: Map<Int, Int> = emptyMap(),
)

private val places =
    listOf(
        Place(directed(0), 1, listOf(1), false),
        Place(directed(0, 1), 2, listOf(1, 2, 4), true, mapOf(1 to 2, 2 to 0, 3 to 4, 4 to 1, 5 to 4)),
        Place(directed(0, 1, 4), 3, listOf(1, 3), true, mapOf(1 to 1, 2 to 1, 3 to 0, 4 to 1, 5 to 3)),
        Place(directed(0, 1, 1), 4, listOf(1), false),
        Place(directed(0, 1, 4, 3), 5, listOf(2), false),
    )

/** Sends the same request to both, and compares the answers. */
private class Both(
    private val theirs: Fabric,
    private val ours: Fabric,
) {
    suspend fun <S : Structure> ask(
        name: String,
        question: suspend Fabric.() -> S,
    ): S? {
        val expected = said { theirs.question() }
        val found = runCatching { ours.question() }
        withClue(name) { said { found.getOrThrow() } shouldBe expected }
        return found.getOrNull()
    }
}

class HonestManagementSpec :
    FunSpec({
        fun sentence(
            name: String,
            body: suspend Both.() -> Unit,
        ) = test(name).config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
            Ibsim(small).use { simulator ->
                fabric(IbsimTransport.connect(port = simulator.port, node = HERE)) { retries(0) }.use { theirs ->
                    simulatedFabric { netFile(small) }.use { simulation ->
                        simulation.fabric(HERE).use { ours -> Both(theirs, ours).body() }
                    }
                }
            }
        }

        suspend fun Both.configure() {
            for (place in places) {
                val number = if (place.isSwitch) 0 else place.ports.single()
                change(place.path, number) {
                    lid = Lid(place.lid)
                    masterSMLID = Lid(1)
                    portState = PortState.NO_CHANGE
                }
                if (!place.isSwitch) continue
                val table = LinearForwardingTable()
                for (lid in 0..63) table.portBlock[lid] = place.outputs[lid] ?: 0xff
                ask("LFT") { set(place.path, table) }
                ask("SwitchInfo") { set(place.path, get<SwitchInfo>(place.path).copy { linearFDBTop = 63 }) }
            }
            for (state in listOf(PortState.ARMED, PortState.ACTIVE)) {
                for (place in places) {
                    for (port in place.ports) {
                        change(place.path, port) { portState = state }
                    }
                }
            }
        }

        sentence("should take what a subnet manager sets as ibsim does, and lead by LID then") {
            configure()
            for (place in places) {
                ask("NodeInfo of ${place.lid}") { get<NodeInfo>(lid(place.lid)) }
                ask("NodeDescription of ${place.lid}") { get<NodeDescription>(lid(place.lid)) }
                for (port in place.ports) ask("PortInfo $port") { get<PortInfo>(lid(place.lid), port) }
            }
            ask("nobody") { get<NodeInfo>(lid(9)) }
        }

        sentence("should count as ibsim does, and reset counters") {
            configure()
            for (place in places) {
                val to = lid(place.lid)
                ask("ClassPortInfo") { get<ClassPortInfo>(to, mgmtClass = ManagementClass.PERF) }
                for (port in place.ports + 99 + listOf(255).filter { place.isSwitch }) {
                    ask("PortCounters") { get<PortCounters>(to) { portSelect = port } }
                    ask("PortCountersExtended") { get<PortCountersExtended>(to) { portSelect = port } }
                    ask("PortRcvErrorDetails") { get<PortRcvErrorDetails>(to) { portSelect = port } }
                    ask("PortXmitDiscardDetails") { get<PortXmitDiscardDetails>(to) { portSelect = port } }
                    ask("PortOpRcvCounters") { get<PortOpRcvCounters>(to) { portSelect = port } }
                    ask("PortFlowCtlCounters") { get<PortFlowCtlCounters>(to) { portSelect = port } }
                    ask("PortVLOpPackets") { get<PortVLOpPackets>(to) { portSelect = port } }
                    ask("PortVLOpData") { get<PortVLOpData>(to) { portSelect = port } }
                    ask("PortVLXmitFlowCtlUpdateErrors") {
                        get<PortVLXmitFlowCtlUpdateErrors>(to) { portSelect = port }
                    }
                    ask("PortVLXmitWaitCounters") { get<PortVLXmitWaitCounters>(to) { portSelect = port } }
                }
            }
        }

        sentence("should take tables as ibsim does") {
            val switch = directed(0, 1)
            ask("PKeys") { set(switch, PKeyTable { pKeyBlock.assign(List(32) { 0x8000 + it }) }, (2 shl 16) or 1) }
            ask("PKeys") { get<PKeyTable>(switch, (2 shl 16) or 1) }
            ask("PKeys of port 0") { set(switch, PKeyTable { pKeyBlock[0] = 0x7fff }) }
            ask("SLtoVL") { set(switch, SLtoVLMappingTable { slToVL[3] = 7 }, (1 shl 8) or 2) }
            ask("SLtoVL") { get<SLtoVLMappingTable>(switch, (1 shl 8) or 2) }
            ask("VLArb") { set(switch, VLArbitrationTable { vlWeightBlock[0].weight = 9 }, (1 shl 16) or 2) }
            ask("VLArb") { get<VLArbitrationTable>(switch, (1 shl 16) or 2) }
        }
    })

/** Reads PortInfo, and sets it with a change. */
private suspend fun Both.change(
    path: DirectedPath,
    port: Int,
    change: PortInfo.() -> Unit,
) {
    val info = checkNotNull(ask("PortInfo $port") { get<PortInfo>(path, port) })
    val wanted =
        info.copy {
            gidPrefix = GID_PREFIX
            portState = PortState.NO_CHANGE
            portPhysicalState = PortPhysicalState.NO_CHANGE
            linkWidthEnabled = LinkWidth.of(0)
            linkSpeedEnabled = LinkSpeed.of(0)
            change()
        }
    ask("Set of PortInfo $port at $path") { set(path, wanted, port) }
}
