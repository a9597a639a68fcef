package org.kverbs.ibtool.counters

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Dotted
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Watch
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.self
import org.kverbs.ibtool.session.target
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortSamplesControl
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transaction.MadException
import org.kverbs.structures.Structure
import org.kverbs.structures.toJson

/** `perfquery`: the counters of ports. */
internal class PerfQueryCommand : DiagnosticCommand("perfquery", "DK") {
    private val isExtended by option("--extended", "-x", help = "Show 64-bit counters").flag()
    private val kinds =
        CounterKind.entries.associateWith {
            option(*it.names, help = it.help).flag().also(::registerOption)
        }
    private val showsSamples by option("--smplctl", "-c", help = "Show the control of samples").flag()
    private val isSum by option("--all_ports", "-a", help = "Show the sum of all ports").flag()
    private val isEach by option("--loop_ports", "-l", help = "Show port after port").flag()
    private val resetsAfter by option(
        "--reset_after_read",
        "-r",
        help = "Set the counters to zero when they are read",
    ).flag()
    private val resetsOnly by option("--Reset_only", "-R", help = "Set the counters to zero, and show nothing").flag()
    private val isDry by option("--dry-run", help = "Say what would be set to zero, and do not do it").flag()
    private val address by argument(
        "address",
        help = "LID, directed path, GUID, GID or name; this port without it",
    ).optional()
    private val ports by argument("ports", help = "A port, 1-10 or 1,4,8; 255 is all ports")
        .convert {
            ports(it)
        }.optional()
    private val mask by argument("reset_mask", help = "The bits of the counters to set to zero")
        .convert {
            int(it).toLong() and 0xffffffffL
        }.optional()

    override fun help(context: Context) = "Show the counters of ports, and set them to zero."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool perfquery
          ibtool perfquery -x 32 1
          ibtool perfquery -l 32 1-10
          ibtool perfquery -R 32 2 0x0fff
        """.trimIndent()

    private val watch = Watch(this)
    private val results = ArrayList<JsonElement>()

    private fun ports(text: String): List<Int> =
        if ('-' in text) {
            val (first, last) = text.split('-', limit = 2).map { portNumber(it) }
            if (first >= last) throw DiagnosticException("max port must be greater than min port in range")
            (first..last).toList()
        } else {
            text
                .split(',')
                .filter { it.isNotEmpty() }
                .map { portNumber(it) }
                .also { require(it.isNotEmpty()) { "\"${printable(text)}\" names no port" } }
        }

    override suspend fun execute(session: Session): Unit = watch.run(session, ::showGrowth) { look(session) }

    private suspend fun look(session: Session) {
        results.clear()
        val address = address
        val target = session.byLid(if (address == null) session.self() else session.target(address))
        val query = PortCountersQuery(session, target)
        val given = ports
        val first =
            when {
                given != null -> given.first()
                isSum -> ALL
                address == null -> session.fabric.port().node.localPortNum
                else -> 0
            }
        try {
            query.begin()
            val kind = kinds.entries.firstOrNull { it.value.value }?.key
            when {
                kind != null -> other(query, kind, first)
                showsSamples -> samples(session, query, first)
                else -> usual(session, query, first)
            }
        } catch (e: MadException) {
            throw DiagnosticException("${e.message}", cause = e)
        }
        if (options.json) print(JsonArray(results))
    }

    private fun show(
        head: String,
        port: Int,
        counters: Structure,
        text: String,
        isPartial: Boolean = false,
    ) {
        if (options.json) {
            // A counter that the port does not have is in its answer, and is zero.
            val labels = text.lines().map { it.substringBefore(':') }.toSet()
            val absent = counters.description.fields.filter { isPartial && it.label !in labels }.map { it.name }
            val hidden = absent + "portSelect"
            results += JsonObject(mapOf("port" to JsonPrimitive(port)) + counters.toJson().filterKeys { it !in hidden })
        } else {
            print("# $head\n$text")
        }
    }

    /** Says what is left out by `--dry-run`; in JSON it is one of the values of the list. */
    private fun wouldReset(what: String) {
        val text = "reset $what"
        if (options.json) results += JsonObject(mapOf("would" to JsonPrimitive(text))) else would(text)
    }

    private suspend fun other(
        query: PortCountersQuery,
        kind: CounterKind,
        port: Int,
    ) {
        if (!resetsOnly) {
            val counters = query.other(kind, port)
            val labels = counters.description.fields.mapNotNull { it.label?.substringBefore('%') }
            val text = Dotted(counters)
            val rows = text.names.filter { name -> labels.any { name.startsWith(it) } }
            val select = if ("PortSelect" in labels) "" else select(counters)
            show("${kind.title} counters: ${query.target} port $port", port, counters, select + text.text(rows))
        }
        if (resetsOnly || resetsAfter) {
            val what = "${kind.title} of ${query.target} port $port"
            if (isDry) return wouldReset(what)
            warn("perfquery: resets $what")
            query.reset(kind, port, mask ?: 0xffff)
        }
    }

    private fun select(counters: Structure): String =
        Dotted.row("PortSelect", "${counters["portSelect"]}") +
            Dotted.row("CounterSelect", "0x%04x".with(counters["counterSelect"]))

    private suspend fun samples(
        session: Session,
        query: PortCountersQuery,
        port: Int,
    ) {
        val control = session.fabric.get<PortSamplesControl>(query.target.path) { portSelect = port }
        val text = Dotted(control)
        show("PortSamplesControl: ${query.target} port $port", port, control, text.text(text.names))
    }

    private suspend fun usual(
        session: Session,
        query: PortCountersQuery,
        first: Int,
    ) {
        val knowsAll = query.mask and PortCountersQuery.ALL_PORTS != 0
        if (!knowsAll && !isSum && first == ALL) throw DiagnosticException("AllPortSelect not supported")
        val isEmulated = !knowsAll && isSum && first == ALL
        val isLoop = isEach && (isSum || first == ALL)
        val given = ports.orEmpty()
        val chosen =
            when {
                isEmulated || isLoop -> ofNode(session, query)
                given.size > 1 -> given
                else -> listOf(first)
            }
        if (isEmulated && !isEach) warn("Emulating AllPortSelect by iterating through all ports")
        if (!resetsOnly) read(query, chosen, isSum && !isEach && (isEmulated || given.size > 1))
        if (resetsOnly || resetsAfter) reset(query, chosen)
    }

    private suspend fun ofNode(
        session: Session,
        query: PortCountersQuery,
    ): List<Int> {
        val node = session.get<NodeInfo>(query.target.path)
        val hasPortZero =
            node.nodeType == NodeType.SWITCH && session.get<SwitchInfo>(query.target.path).enhancedPort0
        return ((if (hasPortZero) 0 else 1)..node.numPorts).toList()
    }

    private suspend fun read(
        query: PortCountersQuery,
        ports: List<Int>,
        isSummed: Boolean,
    ) {
        if (isExtended) {
            val has = PortCountersQuery.EXTENDED or PortCountersQuery.EXTENDED_WITHOUT_CASTS
            if (query.mask and has == 0) {
                warn("PerfMgt ClassPortInfo CapMask 0x%02X; No extended counter support indicated".with(query.mask))
            }
            val all = ports.map { it to query.extended(it) }
            val shown = if (isSummed) listOf(ALL to all.map { it.second }.sum()) else all
            for ((port, counters) in shown) {
                val masks = "(CapMask: 0x%02X CapMask2: 0x%07X)".with(query.mask, query.mask2)
                val text = query.text(counters)
                show(
                    "Port extended counters: ${query.target} port $port $masks",
                    port,
                    counters,
                    text,
                    isPartial = true,
                )
            }
        } else {
            val all = ports.map { it to query.plain(it) }
            val shown = if (isSummed) listOf(ALL to all.map { it.second }.sum()) else all
            for ((port, counters) in shown) {
                val masks = "(CapMask: 0x%02X)".with(query.mask)
                show("Port counters: ${query.target} port $port $masks", port, counters, query.text(counters))
            }
        }
    }

    private suspend fun reset(
        query: PortCountersQuery,
        ports: List<Int>,
    ) {
        val given = mask
        var bits = given ?: 0xffff
        val hasWait = query.mask and PortCountersQuery.XMIT_WAIT != 0
        val hasDrops = query.mask and PortCountersQuery.QP1_DROP != 0
        if (given == null && !isExtended) bits = bits or bit(PLAIN_WAIT, hasWait) or bit(PLAIN_WAIT + 1, hasDrops)
        if (isExtended) bits = bits or 0xfff0000 or bit(EXTENDED_WAIT, hasWait) or bit(EXTENDED_WAIT + 1, hasDrops)
        for (port in ports) {
            val what = "the counters 0x${bits.toString(16)} of ${query.target} port $port"
            if (isDry) {
                wouldReset(what)
            } else {
                warn("perfquery: resets $what")
                query.reset(port, bits, isExtended)
            }
        }
    }

    private fun bit(
        number: Int,
        isSet: Boolean,
    ): Long = if (isSet) 1L shl number else 0

    private companion object {
        private const val ALL = 255
        private const val PLAIN_WAIT = 16
        private const val EXTENDED_WAIT = 28
    }
}
