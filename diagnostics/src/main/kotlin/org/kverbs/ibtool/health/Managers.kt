package org.kverbs.ibtool.health

import org.kverbs.ibtool.health.Finding.Check
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.SMInfo
import org.kverbs.management.structures.SMState
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.SubnetProblemKind
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadException
import org.kverbs.structures.Lid

/** Asks the subnet managers of a fabric for their states. */
internal class Managers(
    private val fabric: Fabric,
    private val subnet: Subnet,
    private val texts: PortText,
) {
    val findings = ArrayList<Finding>()

    /** How many managers say that they are the master. */
    var masters = 0
        private set

    suspend fun find(): Managers {
        val info = subnet.here?.info
        // A discovery that was stopped at once has not read this port.
        if (info == null && subnet.problems.any { it.kind == SubnetProblemKind.STOPPED }) return this
        val lid = info?.masterSMLID ?: Lid(0)
        if (!lid.isUnicast) {
            critical("this port knows no subnet manager", subnet.here)
            return this
        }
        val known = subnet.port(lid)
        val others = subnet.ports.filter { isManager(it) && it.lid.isUnicast && it != known }
        if (others.size > MOST) warn("${others.size} ports say that they have a subnet manager; $MOST were asked")
        val asked = listOf(lid) + others.take(MOST).map { it.lid }
        val states = asked.distinct().associateWith { state(it) }
        val active = states.filterValues { it == SMState.MASTER }.keys
        masters = active.size
        when {
            states[lid] == null -> critical("the subnet manager at the LID $lid does not answer", known)
            lid !in active -> critical("the subnet manager at the LID $lid is ${states[lid]}, not the master", known)
            active.size > 1 -> critical("there are $masters masters among the subnet managers: ${names(active)}", known)
        }
        for (other in asked - lid) {
            if (states[other] ==
                null
            ) {
                warn("the subnet manager at the LID $other does not answer")
            }
        }
        return this
    }

    private fun isManager(port: SubnetPort): Boolean {
        val isEnd = (port.number == 0) == port.node.isSwitch
        return isEnd && port.info?.let { PortCapabilityMask.IsSM in it.capabilityMask } == true
    }

    private suspend fun state(lid: Lid): SMState? =
        try {
            fabric.get<SMInfo>(LidPath(lid)).smState
        } catch (e: MadClosedException) {
            throw e
        } catch (_: MadException) {
            null
        }

    private fun names(lids: Set<Lid>) =
        lids.joinToString { lid -> subnet.port(lid)?.let { texts.of(it) } ?: "LID $lid" }

    private fun critical(
        text: String,
        port: SubnetPort?,
    ) {
        findings += Finding(Check.MANAGER, Severity.CRITICAL, text, port)
    }

    private fun warn(text: String) {
        findings += Finding(Check.MANAGER, Severity.WARNING, text)
    }

    private companion object {
        /** A fabric has a few managers. One that lies can have as many as ports. */
        private const val MOST = 64
    }
}
