package org.kverbs.ibtool.fabric

import org.kverbs.management.structures.PortInfo

/** The names of libibmad for the width, the speed and the states of a port. */
internal object PortNames {
    private val widths = mapOf(1 to "1X", 2 to "4X", 4 to "8X", 8 to "12X", 16 to "2X")
    private val speeds = mapOf(0 to "Extended speed", 1 to "2.5 Gbps", 2 to "5.0 Gbps", 4 to "10.0 Gbps")
    private val extended =
        mapOf(
            0 to "No Extended Speed",
            1 to "14.0625 Gbps",
            2 to "25.78125 Gbps",
            4 to "53.125 Gbps",
            8 to "106.25 Gbps",
        )
    private val states = listOf("NoChange", "Down", "Initialize", "Armed", "Active")
    private val physical =
        listOf("NoChange", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery") +
            "PhyTest"

    fun width(number: Int): String = widths[number] ?: "undefined ($number)"

    fun speed(number: Int): String = speeds[number] ?: "undefined ($number)"

    fun extendedSpeed(number: Int): String = extended[number] ?: "undefined ($number)"

    fun state(info: PortInfo?): String = name(states, info?.portState?.value ?: 0)

    fun physicalState(info: PortInfo?): String = name(physical, info?.portPhysicalState?.value ?: 0)

    private fun name(
        names: List<String>,
        number: Int,
    ) = names.getOrNull(number) ?: "?($number)"
}
