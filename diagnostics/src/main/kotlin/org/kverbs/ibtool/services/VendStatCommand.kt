package org.kverbs.ibtool.services

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.multiple
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.self
import org.kverbs.ibtool.session.target
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.MlxConfigCounterGroup
import org.kverbs.management.structures.MlxConfigSpace
import org.kverbs.management.structures.MlxCounterGroupInfo
import org.kverbs.management.structures.MlxGeneralInfoExtended
import org.kverbs.management.transaction.MadException

/** `vendstat`: what devices of Mellanox tell by their own management class. */
internal class VendStatCommand : DiagnosticCommand("vendstat", "DKy") {
    private val showsInfo by option("--N", "-N", help = "Show general information").flag()
    private val showsWaits by option("--w", "-w", help = "Show how long the ports of an IS3 waited to send").flag()
    private val showsGroups by option("--i", "-i", help = "Show the groups of counters of a port").flag()
    private val groups by option("--c", "-c", metavar = "N,N", help = "Choose the counters of the groups of a port")
        .convert { text ->
            val numbers = text.split(',').map { int(it) }
            require(numbers.size == 2 && numbers.all { it in 0..MOST_GROUP }) { "give two numbers: 0,1" }
            numbers
        }
    private val reads by option(
        "--Read",
        "-R",
        metavar = "ADDR,MASK",
        help = "Read a record of the configuration space",
    ).convert { ConfigRecord.toRead(it) }
        .multiple()
    private val writes by option("--Write", "-W", metavar = "ADDR,VAL,MASK", help = "Write such a record")
        .convert { ConfigRecord.toWrite(it) }
        .multiple()
    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name; this port without it")
        .optional()
    private val port by argument("portnum", help = "The port of the node").convert { portNumber(it) }.optional()

    override fun help(context: Context) = "Show what devices of Mellanox tell by a management class of their own."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool vendstat -N 6
          ibtool vendstat -w 6
          ibtool vendstat -i 6 12
          ibtool vendstat -c 0,1 6 12
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val address = address
        val target = session.byLid(if (address == null) session.self() else session.target(address))
        val number = port ?: if (address == null) session.fabric.port().node.localPortNum else 0
        val groups = groups
        when {
            showsGroups -> counterGroups(session, target, number)
            groups != null -> choose(session, target, number, groups)
            reads.isNotEmpty() || writes.isNotEmpty() -> records(session, target)
            !showsInfo && !showsWaits -> throw DiagnosticException("at least one of -N and -w must be specified")
            else -> general(session, target)
        }
    }

    private suspend fun <T> asking(
        what: String,
        ask: suspend () -> T,
    ): T =
        try {
            ask()
        } catch (e: MadException) {
            throw DiagnosticException("$what: ${e.message}", cause = e)
        }

    private suspend fun general(
        session: Session,
        target: Target,
    ) {
        asking("classportinfo query") {
            session.fabric.get<ClassPortInfo>(target.path, mgmtClass = ManagementClass.MELLANOX)
        }
        val info =
            GeneralInfo(asking("generalinfo query") { session.fabric.get<MlxGeneralInfoExtended>(target.path) })
        val json = LinkedHashMap<String, JsonElement>()
        if (showsInfo) {
            json += info.rows.mapValues { JsonPrimitive(it.value) }
            if (!options.json) line("$info")
        }
        if (showsWaits) {
            if (info.deviceId != IS3) throw DiagnosticException("Unsupported device ID 0x${hex(info.deviceId)}")
            val waits = asking("vendstat") { PortWaits.of(session, target) }
            json["portXmitWait"] = JsonObject(waits.entries.associate { "${it.key}" to JsonPrimitive(it.value) })
            if (!options.json) waits.forEach { (port, wait) -> line("Port $port: PortXmitWait 0x${hex(wait)}") }
        }
        if (options.json) print(JsonObject(json))
    }

    private suspend fun counterGroups(
        session: Session,
        target: Target,
        number: Int,
    ) {
        val info =
            asking("counter group info query failure") {
                session.fabric.get<MlxCounterGroupInfo>(target.path, number)
            }
        // The attribute has two masks, whatever it says.
        val masks = (0 until minOf(info.numCounterGroups, 2)).map { info.groupMask[it] }
        if (options.json) return print(buildJsonArray { masks.forEach { add(JsonPrimitive(it)) } })
        line("counter_group_info:")
        line("${info.numCounterGroups} counter groups")
        masks.forEachIndexed { group, mask -> line("group$group mask ${if (mask == 0L) "0" else "0x${hex(mask)}"}") }
    }

    private suspend fun choose(
        session: Session,
        target: Target,
        number: Int,
        groups: List<Int>,
    ) {
        val what = "group0 ${groups[0]} group1 ${groups[1]}"
        if (isDry) return would("set the counter groups of $target port $number: $what")
        if (!options.json) line("counter_groups_config: configuring $what")
        asking("config counter group set failure") {
            val wanted = MlxConfigCounterGroup { repeat(2) { groupSelect[it].groupSelect = groups[it] } }
            session.fabric.set(target.path, wanted, number)
        }
        val set =
            asking("config counter group query failure") {
                session.fabric.get<MlxConfigCounterGroup>(target.path, number)
            }
        if (options.json) print(buildJsonArray { repeat(2) { add(JsonPrimitive(set.groupSelect[it].groupSelect)) } })
    }

    private suspend fun records(
        session: Session,
        target: Target,
    ) {
        if (isDry) {
            val wanted = writes.map { "write the configuration space of $target at $it" }
            if (options.json) return would(wanted.joinToString("; "))
            return wanted.forEach { line("would $it") }
        }
        val all = ArrayList<JsonElement>()
        if (reads.isNotEmpty()) {
            val wanted = ConfigRecord.space(reads)
            val modifier = ConfigRecord.modifier(minOf(reads.size, ConfigRecord.MOST))
            val answer =
                asking("cannot get config space records") {
                    session.fabric.get<MlxConfigSpace>(target.path, modifier) { memory.copyFrom(wanted.memory) }
                }
            all += show(answer, reads.size)
        }
        if (writes.isNotEmpty()) {
            session.warn("vendstat: writes the configuration space of $target at ${writes.joinToString()}")
            val modifier = ConfigRecord.modifier(minOf(writes.size, ConfigRecord.MOST))
            val answer =
                asking("cannot set config space records") {
                    session.fabric.set(target.path, ConfigRecord.space(writes), modifier)
                }
            all += show(answer, writes.size)
        }
        if (options.json) print(buildJsonArray { all.forEach(::add) })
    }

    private fun show(
        space: MlxConfigSpace,
        count: Int,
    ): List<JsonElement> =
        (0 until minOf(count, ConfigRecord.MOST)).map { index ->
            val record = space.record[index]
            val data = record.data and record.mask
            if (!options.json) line("Config space record at 0x${hex(record.address)}: 0x${hex(data)}")
            buildJsonObject {
                put("address", record.address)
                put("data", data)
            }
        }

    private companion object {
        private const val IS3 = 47396
        private const val MOST_GROUP = 255
    }
}
