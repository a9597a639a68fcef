package org.kverbs.ibtool.session

import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.structures.Guid
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.fileSize
import kotlin.io.path.readLines

/**
 * The names that commands print for nodes: those of a name map, and else the nodes' own descriptions. Neither can move
 * a terminal's cursor.
 */
internal class NodeNames private constructor(
    private val names: Map<Long, String>,
) {
    /** The name of the node in the map, or what the node says. */
    fun of(node: SubnetNode): String = of(node.guid, node.nodeDescription)

    fun of(
        guid: Guid,
        description: NodeDescription,
    ): String = names[guid.value] ?: clean(description)

    /** The GUIDs of the nodes that the map gives this name. */
    fun guids(name: String): List<Guid> = names.filterValues { it == name }.keys.map(::Guid)

    companion object {
        private const val DEFAULT = "/etc/infiniband-diags/ib-node-name-map"
        private const val BLANK = ' '
        private const val LARGEST = 16L shl 20
        private const val SHOWN = 200
        private val printable = 0x20..0x7e
        private val line = Regex("\\s*(0[xX]\\p{XDigit}{1,16}|\\d{1,20})(?:\\s+(.*))?")

        /** A description as infiniband-diags prints it: a blank stands for each byte that is not printable ASCII. */
        fun clean(description: NodeDescription): String =
            buildString {
                for (byte in description.bytes()) {
                    if (byte == 0.toByte()) break
                    append(if (byte in printable) byte.toInt().toChar() else BLANK)
                }
            }

        /** Reads a map; without [file], that of infiniband-diags if it is there. [warn] gets what is wrong with it. */
        fun read(
            file: String?,
            warn: (String) -> Unit,
        ): NodeNames {
            val path = Path.of(file ?: DEFAULT)
            if (file == null && !path.exists()) return NodeNames(emptyMap())
            return try {
                if (path.fileSize() > LARGEST) throw IOException("it has more than $LARGEST bytes")
                NodeNames(parse(path.readLines(Charsets.UTF_8)))
            } catch (e: IOException) {
                warn("WARNING failed to open node name map \"${path}\" (${problemOf(e)})")
                NodeNames(emptyMap())
            } catch (e: IllegalArgumentException) {
                warn("WARNING failed to parse node name map \"$path\"")
                warn("WARNING failed line: \"${e.message?.take(SHOWN)}\"")
                NodeNames(emptyMap())
            }
        }

        private fun parse(lines: List<String>): Map<Long, String> =
            buildMap {
                for (text in lines) {
                    if (text.isBlank() || text.trimStart().startsWith('#')) continue
                    val match =
                        requireNotNull(line.matchEntire(text.substringBefore('#').trimEnd())) { printable(text) }
                    val name = match.groupValues[2].split('"').firstOrNull { it.isNotEmpty() } ?: continue
                    // Of two lines with one GUID the first wins, as in infiniband-diags.
                    putIfAbsent(number(match.groupValues[1]), printable(name))
                }
            }

        private fun printable(text: String) = org.kverbs.ibtool.session.printable(text)
    }
}
