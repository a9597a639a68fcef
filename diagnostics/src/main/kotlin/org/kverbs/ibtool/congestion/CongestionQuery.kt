package org.kverbs.ibtool.congestion

import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Dotted
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.structures.CACongestionSetting
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.CongestionControlTable
import org.kverbs.management.structures.CongestionInfo
import org.kverbs.management.structures.CongestionKeyInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.SwitchCongestionSetting
import org.kverbs.management.structures.SwitchPortCongestionSetting
import org.kverbs.management.structures.TimeStamp
import org.kverbs.structures.Structure
import org.kverbs.structures.toJson

/**
 * Asks a node for one attribute of congestion control, and prints it as `ibccquery` does.
 *
 * @param say prints a title that stands even before an error
 */
internal class CongestionQuery(
    private val session: Session,
    val target: Target,
    private val port: Int,
    private val say: (String) -> Unit,
) {
    private val fabric get() = session.fabric

    suspend fun classPortInfo(): CongestionReport =
        plain("ClassPortInfo", fabric.get<ClassPortInfo>(target.path, mgmtClass = ManagementClass.CONGESTION_CONTROL))

    suspend fun info(): CongestionReport = plain("CongestionInfo", fabric.get<CongestionInfo>(target.path))

    suspend fun keyInfo(): CongestionReport = plain("CongestionKeyInfo", fabric.get<CongestionKeyInfo>(target.path))

    suspend fun log(): CongestionReport = CongestionLog.report(fabric, target)

    suspend fun switchSetting(): CongestionReport =
        plain("SwitchCongestionSetting", fabric.get<SwitchCongestionSetting>(target.path))

    suspend fun timestamp(): CongestionReport = plain("Timestamp", fabric.get<TimeStamp>(target.path))

    private fun plain(
        title: String,
        value: Structure,
    ) = CongestionReport("# $title: $target\n${Dotted(value).without()}", value.toJson())

    suspend fun portSettings(): CongestionReport {
        val node = fabric.get<NodeInfo>(target.path)
        if (node.nodeType != NodeType.SWITCH) throw DiagnosticException("destination not a switch")
        say("# SwitchPortCongestionSetting: $target")
        if (port > node.numPorts) throw DiagnosticException("invalid port number specified")
        val ports = if (port == 0) (0..node.numPorts).toList() else listOf(port)
        val blocks =
            ports.map { it / PORTS }.distinct().associateWith {
                fabric.get<SwitchPortCongestionSetting>(target.path, it)
            }
        val elements =
            ports.associateWith { blocks.getValue(it / PORTS).switchPortCongestionSettingElement[it % PORTS] }
        val text =
            elements.entries.joinToString("") { (number, element) ->
                val rows = Dotted(element).without()
                if (port == 0) Dotted.row("Port", "$number") + rows + "\n" else rows
            }
        val json = elements.map { (number, element) -> element.toJson().with("port", number) }
        return CongestionReport(text, JsonArray(json))
    }

    suspend fun caSetting(): CongestionReport {
        val setting = fabric.get<CACongestionSetting>(target.path)
        val text =
            (0 until LEVELS).joinToString("") {
                Dotted.row("SL", "$it") + Dotted(setting.caCongestionEntry[it]).without() + "\n"
            }
        val rows = Dotted(setting).text(listOf("Port_Control", "Control_Map"))
        return CongestionReport("# CACongestionSetting: $target\n$rows\n$text", setting.toJson())
    }

    suspend fun controlTable(): CongestionReport {
        val first = fabric.get<CongestionControlTable>(target.path)
        val limit = first.cctiLimit
        val text = StringBuilder("# CongestionControlTable: $target\n${Dotted(first).text(listOf("CCTI_Limit"))}\n")
        val entries = ArrayList<JsonElement>()
        var table = first
        for (index in if (limit == 0) IntRange.EMPTY else 0..limit) {
            if (index > 0 && index % ENTRIES == 0) table = fabric.get(target.path, index / ENTRIES)
            val entry = table.cctiEntry[index % ENTRIES]
            text.append(Dotted.row("Entry", "$index")).append(Dotted(entry).without()).append('\n')
            entries += entry.toJson()
        }
        val json = JsonObject(mapOf("cctiLimit" to JsonPrimitive(limit), "cctiEntry" to JsonArray(entries)))
        return CongestionReport("$text", json)
    }

    private fun JsonObject.with(
        name: String,
        number: Int,
    ) = JsonObject(mapOf(name to JsonPrimitive(number)) + this)

    companion object {
        /** How many ports a block of settings has. */
        const val PORTS = 32

        /** How many entries a block of the control table has. */
        const val ENTRIES = 64

        /** How many service levels there are. */
        const val LEVELS = 16
    }
}
