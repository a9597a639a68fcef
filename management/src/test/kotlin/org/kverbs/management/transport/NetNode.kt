package org.kverbs.management.transport

/** A node of a net file: its lines are what a fabric's answers are compared with. */
internal class NetNode(
    val isSwitch: Boolean,
    val ports: Int,
    val id: String,
    val name: String,
    /** By the port's number, the id of the node at the other end and its port. */
    val links: Map<Int, Pair<String, Int>>,
)

private val head = Regex("(Switch|Ca)\\s+(\\d+)\\s+\"([^\"]+)\"\\s+# \"([^\"]+)\".*")
private val link = Regex("\\[(\\d+)]\\s+\"([^\"]+)\"\\[(\\d+)].*")

/** Reads the nodes of a net file, by their ids. */
internal fun readNetFile(text: String): Map<String, NetNode> =
    text
        .split("\n\n")
        .map { block ->
            val lines = block.lines()
            val (kind, ports, id, name) = lines.firstNotNullOf { head.matchEntire(it) }.destructured
            val links = lines.mapNotNull { link.matchEntire(it)?.destructured }
            NetNode(
                kind == "Switch",
                ports.toInt(),
                id,
                name,
                links.associate { (port, far, farPort) -> port.toInt() to (far to farPort.toInt()) },
            )
        }.associateBy { it.id }
