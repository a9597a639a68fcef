package org.kverbs.ibtool.reference

import org.kverbs.management.simulation.SimulatedFabricBuilder
import org.kverbs.management.simulation.SimulatedSpeed
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.LinkWidth
import org.kverbs.structures.Guid
import kotlin.random.Random

private const val FIRST_PORT = 0x0200_0000_2000_0011L
private const val SWITCH_PORTS = 12

/** A fabric of chance: switches in a tree with further links between them, hosts with one or two ports. */
internal class Chance(
    seed: Int,
) {
    private val random = Random(seed)
    private val switches = random.nextInt(3, 8)
    private val hosts = random.nextInt(4, 16)
    private val links = ArrayList<String>()

    /** Starts ibsim with this fabric, and opensm. */
    fun simulator(): Ibsim = Ibsim(simulatedFabric { build(this) }.use { it.netFile() }, "H-1", FIRST_PORT)

    private fun build(builder: SimulatedFabricBuilder) {
        val used = HashMap<String, Int>()
        val widths = listOf(LinkWidth.of(1), LinkWidth.of(3), LinkWidth.of(7))
        val speeds = listOf(SimulatedSpeed.SDR, SimulatedSpeed.DDR, SimulatedSpeed.QDR)

        fun link(
            a: String,
            b: String,
        ) {
            val (from, to) = listOf(a, b).map { (used[it] ?: 0) + 1 }
            if (a == b ||
                listOf(a to from, b to to).any { (node, port) -> node[0] == 'S' && port > SWITCH_PORTS }
            ) {
                return
            }
            used[a] = from
            used[b] = to
            builder.link(a, from, b, to, widths.random(random), speeds.random(random))
            links += "\"$a\"[$from]"
        }
        for (number in 1..switches) builder.switch("S-$number", SWITCH_PORTS)
        builder.host("H-1", 2, Guid(FIRST_PORT - 1))
        for (number in 2..hosts) builder.host("H-$number", 2)
        for (number in 2..switches) link("S-$number", "S-${random.nextInt(1, number)}")
        link("H-1", "S-1")
        for (number in 2..hosts) {
            link("H-$number", "S-${random.nextInt(1, switches + 1)}")
            if (random.nextBoolean()) link("H-$number", "S-${random.nextInt(1, switches + 1)}")
        }
        repeat(switches) { link("S-${random.nextInt(1, switches + 1)}", "S-${random.nextInt(1, switches + 1)}") }
    }

    /** Commands of ibsim's console. The link of the host that asks stays. */
    fun faults(): List<String> {
        val errors =
            listOf("SymbolErrorCounter", "LinkDownedCounter", "PortRcvErrors", "PortXmitDiscards", "VL15Dropped")
        val away = links.filterNot { it.startsWith("\"H-1\"") }.shuffled(random).take(2).map { "Unlink $it" }
        return away +
            links.shuffled(random).take(6).map {
                "PerformanceSet $it PortCounters.${errors.random(random)}=${random.nextInt(1, 16)}"
            }
    }
}
