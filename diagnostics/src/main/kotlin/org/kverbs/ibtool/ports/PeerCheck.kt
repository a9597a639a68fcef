package org.kverbs.ibtool.ports

/** Whether the two ends of a link run at the best that both have enabled. */
internal object PeerCheck {
    private val widths = listOf(8 to "12x", 4 to "8x", 2 to "4x", 16 to "2x", 1 to "1x")
    private val speeds = listOf(4 to "10.0 Gbps", 2 to "5.0 Gbps", 1 to "2.5 Gbps")
    private val extendedSpeeds =
        listOf(8 to "106.25 Gbps", 4 to "53.125 Gbps", 2 to "25.78125 Gbps", 1 to "14.0625 Gbps")
    private const val ALL_WIDTHS = 255
    private const val ALL_SPEEDS = 15
    private const val ALL_EXTENDED = 31
    private const val FDR10 = 1

    /** Returns what is wrong, in the sentences of infiniband-diags. */
    fun problems(
        here: PortView,
        there: PortView,
    ): List<String> =
        listOfNotNull(
            problem("width", widths, width(here) and width(there), here.info.linkWidthActive.value),
            problem("speed", speeds, speed(here) and speed(there), here.info.linkSpeedActive.value),
            if (here.hasExtendedSpeeds && there.hasExtendedSpeeds) {
                val both = extended(here) and extended(there)
                problem("extended speed", extendedSpeeds, both, here.info.linkSpeedExtActive.value)
            } else {
                fdr10(here, there)
            },
        )

    private fun problem(
        what: String,
        names: List<Pair<Int, String>>,
        both: Int,
        active: Int,
    ): String? {
        val (best, name) = names.firstOrNull { both and it.first != 0 } ?: return null
        return "Peer ports operating at active $what $active rather than $best ($name)".takeIf { active != best }
    }

    private fun width(port: PortView) =
        enabled(port.info.linkWidthEnabled.value, ALL_WIDTHS, port.info.linkWidthSupported.value)

    private fun speed(port: PortView) =
        enabled(port.info.linkSpeedEnabled.value, ALL_SPEEDS, port.info.linkSpeedSupported.value)

    private fun extended(port: PortView) =
        enabled(port.info.linkSpeedExtEnabled.value, ALL_EXTENDED, port.info.linkSpeedExtSupported.value)

    private fun enabled(
        enabled: Int,
        all: Int,
        supported: Int,
    ): Int = if (enabled == all) supported else enabled

    private fun fdr10(
        here: PortView,
        there: PortView,
    ): String? {
        val mine = here.extended ?: return null
        val other = there.extended ?: return null
        val isWanted = mine.linkSpeedEnabled.value and other.linkSpeedEnabled.value and FDR10 != 0
        val isThere = mine.linkSpeedActive.value and FDR10 != 0
        val speed = here.info.linkSpeedActive.value
        return "Peer ports operating at active speed $speed rather than FDR10".takeIf { isWanted && !isThere }
    }
}
