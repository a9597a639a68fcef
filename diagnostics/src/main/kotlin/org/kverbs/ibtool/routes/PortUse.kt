package org.kverbs.ibtool.routes

import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.SubnetNode

/**
 * How evenly a switch uses its ports, in the terms of infiniband-diags' `check_lft_balance`.
 *
 * @param node the switch in the topology, or null if it is not there
 * @param looksDeeper whether unbalanced uses that are natural for a line board or a switch with free ports are forgiven
 */
internal class PortUse(
    private val use: ForwardingUse,
    private val node: SubnetNode?,
    private val looksDeeper: Boolean,
) {
    private val usable = (1..maxOf(PORTS, node?.portCount ?: 0)).filter { count(it) > 0 || isUp(it) }

    /** The ports that are compared: those with a link, but for the ones that lead to a host. */
    val ports: List<Int> = usable.filterNot(::leadsToHost)

    /** The switch as infiniband-diags names it. */
    val title: String get() = "${use.name}, ${use.guid}"
    val name: String get() = use.name
    val guid: String get() = use.guid

    /** Whether a port carries at least two LIDs more than another one. */
    val isUnbalanced: Boolean = isUneven(ports) && !(looksDeeper && usable.size > FEW && isNatural())

    /** How many LIDs go out by a port. */
    fun count(port: Int): Int = use.counts[port] ?: 0

    private fun isUp(port: Int): Boolean {
        val state = node?.port(port)?.state ?: return false
        return state != PortState.DOWN
    }

    /** infiniband-diags compares no names here: a port with a host's number of LIDs leads to one if there is any. */
    private fun leadsToHost(port: Int): Boolean =
        count(port) == use.lidsPerPort && node?.port(port)?.state == PortState.ACTIVE &&
            use.hosts.any { !it.trimStart().matches(startsWithNumber) }

    private fun isUneven(of: List<Int>): Boolean {
        val counts = of.map(::count)
        return counts.isNotEmpty() && counts.max() > counts.min() + 1
    }

    private fun isNatural(): Boolean {
        val most = ports.maxOf(::count)
        val rest = ports.filter { count(it) < most - 1 }
        val others = rest.filter { count(it) != 0 }
        val half = usable.size / 2
        return rest.all { count(it) == 0 } || (others.size in half - 1..half + 1 && !isUneven(others))
    }

    private companion object {
        private const val PORTS = 36
        private const val FEW = 12
        private val startsWithNumber = Regex("[+-]?0*\\.?0*[1-9].*", RegexOption.DOT_MATCHES_ALL)
    }
}
