package org.kverbs.management.subnet

import kotlinx.coroutines.runBlocking
import org.kverbs.management.fabric.fabric
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.copy

/** A switch with the GUID 1 and hosts with the GUIDs 16, 32, ... at its ports 1, 2, ...; host 16 asks. */
internal fun star(hops: List<Int>): NodeInfo =
    when (hops.size) {
        0 -> hostInfo(16)
        1 -> switchInfo(1, 8, 1)
        else -> hostInfo(16L * hops[1])
    }

/** The answers of [star] with LIDs, rates and names; the last ports are down. */
internal fun starAnswer(
    question: Question,
    lastUp: Int = 6,
    lidOf: (Guid) -> Int = { (it.value and 0xff).toInt() },
    speed: (Guid) -> LinkSpeed = { LinkSpeed.QDR },
): Structure? {
    val node = star(question.hops)
    val answer = answerOf(question, isUp = { it <= lastUp }, node = ::star)
    return when (answer) {
        is NodeDescription -> {
            NodeDescription { nodeString = "node ${node.nodeGUID}" }
        }

        is NodeInfo -> {
            answer.copy { systemImageGUID = Guid(nodeGUID.value and 0x20) }
        }

        is PortInfo -> {
            answer.copy {
                lid = Lid(if (node.nodeGUID.value == 1L && question.modifier != 0) 0 else lidOf(node.nodeGUID))
                linkWidthActive = LinkWidth.W4X
                linkWidthSupported = LinkWidth.W1X + LinkWidth.W4X
                linkSpeedActive = speed(node.nodeGUID)
                linkSpeedSupported = LinkSpeed.SDR + LinkSpeed.DDR + LinkSpeed.QDR
            }
        }

        else -> {
            answer
        }
    }
}

/** The subnet of [starAnswer]. */
internal fun starSubnet(answer: (Question) -> Structure? = { starAnswer(it) }): Subnet =
    runBlocking { fabric(lying(answer)).discover() }
