package org.kverbs.ibtool.health

/** A report as the plugins of Nagios print it: the state and performance data in a line, then the findings. */
internal object HealthText {
    private const val MOST = 20

    /** @param isLong whether to print all findings, and not only the first of each check */
    fun of(
        report: HealthReport,
        isLong: Boolean,
    ): String =
        buildString {
            val subnet = report.subnet
            append("${report.severity}: ${subnet.nodes.size} nodes, ${subnet.links.size} links, ")
            append("${report.count(Severity.CRITICAL)} critical, ${report.count(Severity.WARNING)} warnings")
            append(" | nodes=${subnet.nodes.size} links=${subnet.links.size} slow=${report.slowLinks} ")
            append("narrow=${report.narrowLinks} critical=${report.count(Severity.CRITICAL)} ")
            append("warnings=${report.count(Severity.WARNING)}\n")
            for (check in Finding.Check.entries) append(check, report, isLong)
        }

    private fun StringBuilder.append(
        check: Finding.Check,
        report: HealthReport,
        isLong: Boolean,
    ) {
        if (check in report.skipped) return
        val all = report.findings.filter { it.check == check }.sortedByDescending { it.severity }
        if (all.isEmpty()) append("${check.key}: good\n")
        val shown = if (isLong) all else all.take(MOST)
        for (finding in shown) append("${check.key}: ${"${finding.severity}".lowercase()}: ${finding.text}\n")
        if (shown.size < all.size) append("${check.key}: ${all.size - shown.size} more; -v shows all\n")
    }
}
