package org.kverbs.ibtool.map

import org.kverbs.management.subnet.LaneSpeed

/** The colours of a map. */
internal object MapColors {
    private val speeds =
        mapOf(
            LaneSpeed.SDR to "#9e9ac8",
            LaneSpeed.DDR to "#807dba",
            LaneSpeed.QDR to "#6a51a3",
            LaneSpeed.FDR10 to "#41b6c4",
            LaneSpeed.FDR to "#1d91c0",
            LaneSpeed.EDR to "#225ea8",
            LaneSpeed.HDR to "#238b45",
            LaneSpeed.NDR to "#005a32",
            LaneSpeed.XDR to "#00261a",
        )
    private val chassis =
        listOf("#fde0c5", "#d5e8d4", "#dae8fc", "#fff2b2", "#e1d5e7", "#f8cecc", "#cdeef0", "#e6e6c8")
    private const val UNKNOWN = "#737373"
    const val HOST = "#f7f7f7"
    const val SWITCH = "#ffffff"
    const val ERRORS = "#e31a1c"
    const val BELOW_RATE = "#ff7f00"

    /** The colour of a link that is as it should be. */
    fun speed(speed: LaneSpeed?): String = speeds[speed] ?: UNKNOWN

    fun link(link: MapLink): String =
        when (link.state) {
            MapLink.State.ERRORS -> ERRORS
            MapLink.State.BELOW_RATE -> BELOW_RATE
            else -> speed(link.speed)
        }

    fun node(node: MapNode): String =
        when {
            node.chassis != null -> chassis(node.chassis)
            node.level == 0 -> HOST
            else -> SWITCH
        }

    fun chassis(number: Int): String = chassis[(number - 1) % chassis.size]
}
