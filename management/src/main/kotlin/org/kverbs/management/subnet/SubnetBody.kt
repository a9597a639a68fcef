package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.structures.Guid
import java.nio.ByteBuffer

private const val COUNTS = 5 * Int.SIZE_BYTES
private const val NODE_BYTES = Long.SIZE_BYTES + 1 + 2 * Int.SIZE_BYTES
private const val PORT_BYTES = 1 + Long.SIZE_BYTES + 1 + Int.SIZE_BYTES
private const val PROBLEM_BYTES = 1 + 1 + Long.SIZE_BYTES + Int.SIZE_BYTES + Int.SIZE_BYTES
private const val HAS_NODE = 1
private const val HAS_PORT = 2
private const val MAX_TEXT = 10_000

/** The bytes of a saved subnet: five counts, the arrays of [SubnetData] one after the other, and the problems. */
internal object SubnetBody {
    private val nodeSize = NODE_BYTES + NodeInfo.byteSize + NodeDescription.byteSize + SwitchInfo.byteSize
    private val portSize = PORT_BYTES + PortInfo.byteSize
    private val extendedSize = Int.SIZE_BYTES + PortInfoExtended.byteSize

    fun bytes(data: SubnetData): ByteArray {
        val texts = data.problems.map { it.text.encodeToByteArray() }
        val size =
            COUNTS + arrays(data.nodeCount, data.portCount, data.extendedPorts.size) +
                texts.sumOf { PROBLEM_BYTES + it.size.toLong() }
        val body = ByteBuffer.allocate(Math.toIntExact(size))
        intArrayOf(data.nodeCount, data.portCount, data.extendedPorts.size, data.problems.size, data.here)
            .forEach(body::putInt)
        data.guids.forEach(body::putLong)
        body.put(data.nodeInfos).put(data.descriptions).put(data.switchInfos).put(data.nodeFlags)
        data.firstPorts.drop(1).forEach(body::putInt)
        data.cameBy.forEach(body::putInt)
        body.put(data.portNumbers)
        data.portGuids.forEach(body::putLong)
        body.put(data.portInfos).put(data.portFlags)
        data.peers.forEach(body::putInt)
        data.extendedPorts.forEach(body::putInt)
        body.put(data.extended)
        data.problems.forEachIndexed { index, problem ->
            val node = problem.node
            val port = problem.port
            val has = (if (node == null) 0 else HAS_NODE) or (if (port == null) 0 else HAS_PORT)
            body.put(problem.kind.ordinal.toByte()).put(has.toByte()).putLong(node?.value ?: 0).putInt(port ?: 0)
            body.putInt(texts[index].size).put(texts[index])
        }
        return body.array()
    }

    private fun arrays(
        nodes: Int,
        ports: Int,
        extended: Int,
    ): Long = nodes.toLong() * nodeSize + ports.toLong() * portSize + extended.toLong() * extendedSize

    /** Reads what [bytes] wrote. The counts are compared with the bytes that are there before memory is taken. */
    fun data(bytes: ByteArray): SubnetData {
        val body = ByteBuffer.wrap(bytes)
        require(bytes.size >= COUNTS, "it has no counts")
        val nodes = body.getInt()
        val ports = body.getInt()
        val extended = body.getInt()
        val problems = body.getInt()
        val here = body.getInt()
        require(nodes >= 0 && ports >= 0 && extended >= 0 && problems >= 0, "a count is negative")
        require(problems <= MAX_PROBLEMS + 1, "it has more problems than a discovery keeps")
        val least = arrays(nodes, ports, extended) + problems.toLong() * PROBLEM_BYTES
        require(least <= body.remaining(), "it is too short for its counts")
        val data =
            SubnetData(
                guids = body.longs(nodes),
                nodeInfos = body.bytes(nodes * NodeInfo.byteSize),
                descriptions = body.bytes(nodes * NodeDescription.byteSize),
                switchInfos = body.bytes(nodes * SwitchInfo.byteSize),
                nodeFlags = body.bytes(nodes),
                firstPorts = intArrayOf(0) + body.ints(nodes),
                cameBy = body.ints(nodes),
                portNumbers = body.bytes(ports),
                portGuids = body.longs(ports),
                portInfos = body.bytes(ports * PortInfo.byteSize),
                portFlags = body.bytes(ports),
                peers = body.ints(ports),
                extendedPorts = body.ints(extended),
                extended = body.bytes(extended * PortInfoExtended.byteSize),
                here = here,
                problems = List(problems) { problem(body) },
            )
        require(!body.hasRemaining(), "there are bytes behind its end")
        SubnetCheck(data).check()
        return data
    }

    private fun problem(body: ByteBuffer): SubnetProblem {
        require(body.remaining() >= PROBLEM_BYTES, "a problem is cut off")
        val kind = SubnetProblemKind.entries.getOrNull(body.get().toInt())
        val has = body.get().toInt()
        val node = body.getLong()
        val port = body.getInt()
        val length = body.getInt()
        require(length in 0..minOf(MAX_TEXT, body.remaining()), "a problem's text is cut off")
        val text = SafeText.of(body.bytes(length).decodeToString())
        if (kind == null) throw SubnetFileException("the subnet is damaged: a problem is of no known kind")
        return SubnetProblem(
            kind,
            Guid(node).takeIf { has and HAS_NODE != 0 },
            port.takeIf { has and HAS_PORT != 0 },
            text,
        )
    }

    private fun ByteBuffer.bytes(count: Int) = ByteArray(count).also { get(it) }

    private fun ByteBuffer.longs(count: Int) = LongArray(count) { getLong() }

    private fun ByteBuffer.ints(count: Int) = IntArray(count) { getInt() }

    private fun require(
        condition: Boolean,
        wrong: String,
    ) {
        if (!condition) throw SubnetFileException("the subnet is damaged: $wrong")
    }
}
