package org.kverbs.ibtool.health

import org.kverbs.ibtool.counters.PortReading
import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.management.check.RouteReport
import org.kverbs.management.subnet.SubnetPort

/** A report in the text format of Prometheus. */
internal class HealthMetrics(
    private val names: NodeNames,
) {
    fun of(report: HealthReport): String {
        val metrics = Metrics()
        with(metrics) {
            status(report.severity.status)
            gauge("ibtool_health_findings", "Findings by the part of the report and by severity") {
                for (check in Finding.Check.entries - report.skipped) {
                    for (severity in listOf(Severity.WARNING, Severity.CRITICAL)) {
                        val labels = arrayOf("check" to check.key, "severity" to "$severity".lowercase())
                        add(report.count(check, severity).toLong(), *labels)
                    }
                }
            }
            gauge("ibtool_fabric_nodes", "Nodes by type") {
                for ((type, nodes) in report.subnet.nodes.groupBy { SubnetJson.type(it) }.toSortedMap()) {
                    add(nodes.size.toLong(), "type" to type)
                }
            }
            gauge("ibtool_fabric_links", "Links") { add(report.subnet.links.size.toLong()) }
            gauge("ibtool_fabric_slow_links", "Links below the speed that both ends have enabled") {
                add(report.slowLinks.toLong())
            }
            gauge("ibtool_fabric_narrow_links", "Links below the width that both ends have enabled") {
                add(report.narrowLinks.toLong())
            }
            if (Finding.Check.MANAGER !in report.skipped) {
                gauge("ibtool_fabric_masters", "Subnet managers that say they are the master") {
                    add(report.managers.toLong())
                }
            }
            report.routes?.let { routes(it) }
            report.readings?.let { ports(it) }
        }
        return "$metrics"
    }

    private fun Metrics.routes(routes: RouteReport) {
        gauge("ibtool_routes_pairs", "Pairs of a port and a LID of another port") { add(routes.pairs) }
        gauge("ibtool_routes_unreachable_pairs", "Pairs that do not reach each other") { add(routes.unreachableCount) }
        gauge("ibtool_routes_ports_without_lid", "Linked ports of hosts and routers that have no LID") {
            add(routes.portsWithoutLid.toLong())
        }
        gauge("ibtool_routes_credit_loops", "Circles of links that can block each other, on one virtual lane") {
            add(routes.creditLoops.size.toLong())
        }
        gauge("ibtool_routes_unbalanced_switches", "Switches that use equally short ways unevenly") {
            add(routes.unbalanced.size.toLong())
        }
    }

    private fun Metrics.ports(readings: PortReadings) {
        counter("ibtool_port_errors_total", "Error counters of linked ports") {
            for (reading in readings.all) {
                for ((name, value) in reading.errors) add(value, *labels(reading.port), "counter" to name)
            }
        }
        traffic(readings, "ibtool_port_sent_bytes_total", "Bytes that linked ports sent") { it.sentBytes }
        traffic(readings, "ibtool_port_received_bytes_total", "Bytes that linked ports received") { it.receivedBytes }
        traffic(readings, "ibtool_port_sent_packets_total", "Packets that linked ports sent") { it.sentPackets }
        traffic(readings, "ibtool_port_received_packets_total", "Packets that linked ports received") {
            it.receivedPackets
        }
    }

    private fun Metrics.traffic(
        readings: PortReadings,
        name: String,
        help: String,
        value: (PortReading) -> Long,
    ) = counter(name, help) { for (reading in readings.all) add(value(reading), *labels(reading.port)) }

    private fun labels(port: SubnetPort) =
        arrayOf(
            "guid" to SubnetJson.guid(port.node.guid.value),
            "port" to "${port.number}",
            "name" to names.of(port.node),
        )

    companion object {
        /** The metrics of a fabric that could not be asked: one, so that a scrape sees that. */
        fun unknown(status: Int): String = "${Metrics().apply { status(status) }}"

        private fun Metrics.status(status: Int) =
            gauge(
                "ibtool_health_status",
                "0 if the fabric is well, 1 with warnings, 2 if it is critical, 3 if not known",
            ) {
                add(status.toLong())
            }
    }
}
