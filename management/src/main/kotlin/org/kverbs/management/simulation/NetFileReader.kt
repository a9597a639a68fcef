package org.kverbs.management.simulation

import org.kverbs.structures.Lid

private const val MAX_LINE = 4000

/**
 * Reads net files of ibsim, and what ibnetdiscover prints, into a topology. The text need not be trusted: the answer is
 * a topology or an IllegalArgumentException that names the line. What a line means is what ibsim makes of it.
 */
internal class NetFileReader(
    private val topology: Topology,
) {
    private class Cable(
        val line: Int,
        val port: Int,
        val farId: String,
        val farPort: Int,
    )

    private val cables = ArrayList<Cable>()
    private val guids = longArrayOf(0, FIRST_GUID, 2 * FIRST_GUID, 3 * FIRST_GUID)
    private var vendor = 0
    private var device = 0
    private var systemGuid: Long? = null
    private var rate = LinkRate.DEFAULT
    private var current: Int? = null
    private var line = 0

    fun read(text: String) {
        for (each in text.lineSequence()) {
            line++
            try {
                require(each.length <= MAX_LINE) { "the line has ${each.length} characters; $MAX_LINE are the most" }
                read(each.trim(), each)
            } catch (e: IllegalArgumentException) {
                throw IllegalArgumentException("line $line of the net file: ${e.message}", e)
            }
        }
        connect()
    }

    private fun read(
        text: String,
        raw: String,
    ) {
        val word = text.takeWhile { it.isLetter() }
        when {
            text.startsWith("#") -> Unit

            text.startsWith("[") -> port(text)

            text.isEmpty() || raw.first().isWhitespace() -> current = null

            word in KINDS -> node(text, KINDS.getValue(word))

            word in UNSUPPORTED -> refuse(word)

            word in SETTINGS -> setting(word, text)

            // Dates, chassis and the like, which ibnetdiscover prints between the nodes.
            else -> current = null
        }
    }

    private fun refuse(word: String): Nothing =
        throw IllegalArgumentException("\"$word\" is not supported; give one file with all nodes by their ids")

    private fun setting(
        word: String,
        text: String,
    ) {
        current = null
        val sign = text.drop(word.length).trimStart()
        require(sign.startsWith("=") || sign.startsWith("+")) { "$word needs a = and a number" }
        val given = sign.drop(1).trim().takeWhile { !it.isWhitespace() && it != '(' }
        val value = number(given) ?: throw IllegalArgumentException("\"${shown(given)}\" is not a number")
        when (word) {
            "vendid" -> vendor = range(value, 0xffffff)
            "devid" -> device = range(value, 0xffff)
            "sysimgguid" -> systemGuid = value.takeIf { it != 0L }
            "switchguid" -> guids[Kind.SWITCH] = value
            "caguid", "hcaguids" -> guids[Kind.HOST] = value
            "rtguid" -> guids[Kind.ROUTER] = value
            "width" -> rate = rate.withWidth(range(value, 31))
            "speed" -> rate = rate.withSpeed(range(value, 7))
            "extspeed" -> rate = rate.withExtended(range(value, 15))
        }
    }

    private fun range(
        value: Long,
        most: Int,
    ): Int {
        require(value in 0..most) { "$value is out of range; give 0 to $most" }
        return value.toInt()
    }

    private fun node(
        text: String,
        kind: Int,
    ) {
        val match = requireNotNull(NODE.matchEntire(text)) { "a node reads: Switch 36 \"id\" # \"name\"" }
        val (count, id, rest) = match.destructured
        val ports = count.toIntOrNull() ?: throw IllegalArgumentException("$count is no number of ports")
        val behind = rest.substringAfter('#', "")
        val name = quoted(behind) ?: behind.trim().split(" enhanced port ", " base port ", " lid ", " lmc ").first()
        val guid = guids[kind]
        val index =
            topology.add(
                NodeSpec(
                    kind,
                    id,
                    name.ifBlank { id },
                    ports,
                    guid,
                    systemGuid,
                    vendor,
                    device,
                    hasEnhancedPort = "enhanced port 0" in rest,
                ),
                rate,
            )
        guids[kind] = guid + if (kind == Kind.SWITCH) 1 else ports + 1
        vendor = 0
        systemGuid = null
        current = index
        if (kind == Kind.SWITCH) setLid(topology.port(index, 0), behind)
    }

    private fun port(text: String) {
        val node = current ?: return
        val match = requireNotNull(PORT.matchEntire(text)) { "a port reads: [1] \"id of the other\"[2]" }
        val (number, guid, farId, farPort, rest) = match.destructured
        val port = topology.port(node, number.toInt())
        require(port != Topology.NONE && number.toInt() > 0) {
            "${topology.node(node).id} has the ports 1 to ${topology.node(node).ports}, not $number"
        }
        if (guid.isNotEmpty()) topology.setGuid(port, guid.toULong(16).toLong())
        cables += Cable(line, port, farId, if (farPort.isEmpty()) 1 else farPort.toInt())
        OPTION.findAll(rest.substringBefore('#')).forEach { option(port, it.groupValues[1], it.groupValues[2]) }
        val kind = topology.node(node).kind
        if (kind != Kind.ROUTER) speed(port, rest.substringAfterLast('"'))
        if (kind == Kind.HOST) setLid(port, rest.substringAfter('#', ""))
    }

    private fun option(
        port: Int,
        name: String,
        value: String,
    ) {
        val old = topology.rate(port)
        val number = number(value) ?: return
        when (name.first()) {
            'w' -> topology.setRate(port, old.withWidth(range(number, 31)))
            's' -> topology.setRate(port, old.withSpeed(range(number, 7)))
            'e' -> topology.setRate(port, old.withExtended(range(number, 15)))
        }
    }

    /** `lid 4 4xQDR`, behind the last quotation mark. */
    private fun speed(
        port: Int,
        text: String,
    ) {
        val (lanes, name) = SPEED.find(text)?.destructured ?: return
        var rate = topology.rate(port)
        LinkRate.widthsOf(lanes.toIntOrNull() ?: 0)?.let { rate = rate.withWidth(it) }
        SimulatedSpeed.entries.firstOrNull { it.text == name }?.let { rate = rate.withSpeed(it) }
        topology.setRate(port, rate)
    }

    private fun setLid(
        port: Int,
        text: String,
    ) {
        val outside = text.replace(QUOTED, " ")
        val lid = LID.find(outside)?.groupValues?.get(1)?.toIntOrNull() ?: return
        if (!Lid(lid).isUnicast) return
        topology.setLid(port, lid, LMC.find(outside)?.groupValues?.get(1)?.toIntOrNull()?.coerceAtMost(7) ?: 0)
    }

    /** Links the ports, each of which must name the other. */
    private fun connect() {
        val byPort = cables.associateBy { it.port }
        for (cable in cables) {
            val far = topology.find(cable.farId)?.takeIf { topology.node(it).id == cable.farId }
            val farPort = far?.let { topology.port(it, cable.farPort) } ?: Topology.NONE
            val other = byPort[farPort]
            val back = other?.let { topology.find(it.farId) }?.let { topology.port(it, other.farPort) }
            require(farPort != Topology.NONE) {
                "line ${cable.line} of the net file: there is no port \"${shown(cable.farId)}\"[${cable.farPort}]"
            }
            require(back == cable.port) {
                "line ${cable.line} of the net file: ${topology.name(farPort)} is not linked with " +
                    topology.name(cable.port)
            }
            if (topology.peer(cable.port) == Topology.NONE) topology.link(cable.port, farPort)
        }
    }

    private companion object {
        const val FIRST_GUID = 0x100000L
        val KINDS = mapOf("Switch" to Kind.SWITCH, "Ca" to Kind.HOST, "Hca" to Kind.HOST, "Rt" to Kind.ROUTER)
        val SETTINGS =
            setOf(
                "vendid",
                "devid",
                "sysimgguid",
                "switchguid",
                "caguid",
                "hcaguids",
                "rtguid",
                "width",
                "speed",
                "extspeed",
            )
        val UNSUPPORTED = setOf("module", "include", "do")
        val NODE = Regex("\\p{Alpha}+\\s+(\\d{1,6})\\s+\"([^\"#@]{1,64})\"(.*)")
        val PORT =
            Regex(
                "\\[(\\d{1,3})](?:\\[ext \\d{1,3}])?(?:\\((\\p{XDigit}{1,16})\\))?\\s*" +
                    "\"([^\"]{1,64})\"(?:\\[(\\d{1,3})])?(.*)",
            )

        // Without the look behind and the pluses, a line of letters alone costs the square of its length.
        val OPTION = Regex("(?<!\\p{Alpha})(\\p{Alpha}++)\\s*+=\\s*+(\\w+)")
        val SPEED = Regex("lid \\d+ (\\d{1,2})x(\\w{3,5})")
        val QUOTED = Regex("\"[^\"]*\"")
        val LID = Regex("\\blid (\\d{1,5})")
        val LMC = Regex("\\blmc (\\d)")

        fun quoted(text: String): String? = text.substringAfter('"', "").takeIf { '"' in text }?.substringBefore('"')

        fun number(text: String): Long? =
            if (text.startsWith("0x")) text.drop(2).toULongOrNull(16)?.toLong() else text.toULongOrNull()?.toLong()

        /** Text from outside in a message: short, and without control characters. */
        fun shown(text: String) = text.take(40).map { if (it.isISOControl()) '?' else it }.joinToString("")
    }
}
