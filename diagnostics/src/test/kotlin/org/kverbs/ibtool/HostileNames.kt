package org.kverbs.ibtool

import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.simulatedFabric
import java.nio.file.Path
import kotlin.io.path.writeText

/** A description that tries to get out of terminals, JSON, labels of metrics, SVG and DOT at once. */
internal const val HOSTILE = "\u001b[2J}\\n|{<svg/onload=x>'&amp;\u009b\\\u000c];--><!]]>"

/** A net file of two hosts at a switch, all with [HOSTILE] as their description. */
internal fun hostileNet(folder: Path): Path {
    val net = folder.resolve("hostile.net")
    net.writeText(
        """
        switchguid=$FIRST_SWITCH
        Switch	4 "S-1"		# "$HOSTILE"
        [1]	"H-1"[1]
        [2]	"H-2"[1]

        Ca	1 "H-1"		# "$HOSTILE"
        [1]	"S-1"[1]

        Ca	1 "H-2"		# "$HOSTILE"
        [1]	"S-1"[2]

        """.trimIndent(),
    )
    return net
}

/** Two switches with two links between them, one of which is slow, and two hosts at each. */
internal fun smallFabric(): SimulatedFabric =
    simulatedFabric {
        switch("S-1", 8)
        switch("S-2", 8)
        link("S-1", 1, "S-2", 1)
        link("S-1", 2, "S-2", 2)
        for (number in 1..4) {
            host("H-$number")
            link("H-$number", 1, if (number < 3) "S-1" else "S-2", 4 + number)
        }
        subnetManager()
    }
