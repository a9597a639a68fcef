package org.kverbs.ibtool.check

import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.session.with
import org.kverbs.management.check.NameDiff
import org.kverbs.management.check.Partitions
import org.kverbs.management.check.RouteReport
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetPort

/** A report as text: a line for each part, and a line for each thing that is wrong. */
internal class CheckText(
    private val texts: PortText,
) {
    private val text = StringBuilder()

    private fun line(line: String) {
        text.append(line).append('\n')
    }

    fun of(report: CheckReport): String {
        report.problems.forEach { line("problem: ${PortText.safe("$it")}") }
        report.routes?.let(::routes)
        report.multicast?.let(::multicast)
        report.partitions?.let(::partitions)
        report.difference?.let { difference(it) }
        report.way?.let(::way)
        return "$text"
    }

    private fun routes(routes: RouteReport) {
        line(
            "routes: ${routes.pairs} pairs of ports, ${routes.unreachableCount} unreachable, " +
                "${routes.circleCount} of them in a circle, ${routes.creditLoops.size} credit loops, " +
                "${routes.unbalanced.size} unbalanced switches",
        )
        for ((switches, pairs) in routes.hopCounts) line("routes: $pairs pairs over $switches switches")
        if (routes.portsWithoutLid > 0) line("routes: ${routes.portsWithoutLid} linked ports have no LID")
        if (!routes.isBalanceKnown) line("routes: there are too many switches to compare equally short ways")
        if (routes.detours > 0) line("routes: ${routes.detours} entries of tables lead away from the shortest way")
        for (pair in routes.unreachable) {
            line("unreachable: ${texts.of(pair.from)} -> ${texts.of(pair.to)}: ${PortText.safe(pair.text)}")
        }
        val rest = routes.unreachableCount - routes.unreachable.size
        if (rest > 0) line("unreachable: $rest more")
        for (loop in routes.creditLoops) line("credit loop: ${loop.hops.joinToString(" -> ") { texts.of(it.out) }}")
        for (it in routes.unbalanced) {
            line(
                "unbalanced: ${texts.of(it.busy)} carries ${it.busyLids} LIDs, and port ${it.idle.number} " +
                    "${it.idleLids}; ${it.movable} can go either way",
            )
        }
    }

    private fun multicast(groups: List<CheckReport.Group>) {
        line("multicast: ${groups.size} groups, ${groups.count { !it.isGood }} with faults")
        for (group in groups) {
            val tree = group.tree
            val lid = "group 0x%04x".with(tree.lid.value)
            line("$lid: ${tree.switches.size} switches, ${tree.ends.size} ports of hosts")
            if (tree.parts > 1) line("$lid: its switches fall into ${tree.parts} parts")
            if (tree.loopLinks > 0) line("$lid: ${tree.loopLinks} links close a circle")
            for (port in tree.oneSided) line("$lid: ${texts.of(port)} hands on packets, but gets none back")
            for (port in group.missing) line("$lid: the member ${texts.of(port)} is not reached")
        }
    }

    private fun partitions(partitions: Partitions) {
        line("partitions: ${partitions.all.size}")
        for (partition in partitions.all) {
            val note = if (partition.isUseless) "; no two of them can talk" else ""
            line("$partition$note")
        }
        for (problem in partitions.problems) line("problem: ${PortText.safe("$problem")}")
    }

    private fun difference(diff: NameDiff) {
        line(if (diff.isEmpty) "expected: the fabric is as expected" else "expected: the fabric is not as expected")
        for (name in diff.ambiguousNames) line("? several nodes have the name \"${PortText.safe(name)}\"")
        for (node in diff.missingNodes) line("- node ${texts.of(node)}")
        for (node in diff.unexpectedNodes) line("+ node ${texts.of(node)}")
        for (link in diff.missingLinks) line("- link ${ends(link)}")
        for (link in diff.unexpectedLinks) line("+ link ${ends(link)}")
        for (change in diff.changedLinks) line("~ link ${ends(change.after)}: ${change.fields.joinToString()}")
    }

    private fun ends(link: SubnetLink) = "${texts.of(link.a)} - ${texts.of(link.b)}"

    private fun way(way: CheckReport.Way) {
        line("from ${texts.of(way.route.from)}")
        for (hop in way.route.hops) {
            line("  ${texts.of(hop.out)} -> ${texts.of(hop.into)} ${hop.link.rate ?: "rate unknown"}")
            line("    out: ${counters(way, hop.out)}")
            line("    in:  ${counters(way, hop.into)}")
        }
        line(way.route.text?.let { "ends: ${PortText.safe(it)}" } ?: "to ${texts.of(way.route.to)}")
        for ((node, failure) in way.readings.failures) {
            line("problem: ${texts.of(node)} tells no counters: ${PortText.safe(failure)}")
        }
    }

    private fun counters(
        way: CheckReport.Way,
        port: SubnetPort,
    ): String {
        val reading = way.readings.of(port) ?: return "no counters"
        val errors = reading.errors.filterValues { it != 0L }.map { (name, value) -> "$name ${value.toULong()}" }
        val traffic = "sent ${reading.sentBytes.toULong()} bytes, received ${reading.receivedBytes.toULong()} bytes"
        return (listOf(traffic) + errors).joinToString(", ")
    }
}
