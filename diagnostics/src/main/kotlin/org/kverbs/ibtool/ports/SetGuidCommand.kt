package org.kverbs.ibtool.ports

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.management.structures.GUIDInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid

private const val BLOCK = 8

/** `set_guid`: gives a port a further GUID. */
internal class SetGuidCommand : DiagnosticCommand("set_guid", "K") {
    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val index by argument(
        "index",
        help = "The place in the port's table of GUIDs, from 1 on",
    ).convert { int(it) }
    private val guid by argument("guid", help = "The GUID; 0 takes it away")
        .convert { text ->
            // A GUID has hexadecimal digits, with 0x or colons or without.
            if (text == "0") Guid(0) else Guid.parse(text)
        }

    override fun help(context: Context) =
        """
        Give a port a further GUID, which makes a further GID of it.

        The first GUID, index 0, is the port's own, and nobody can change it. A port says in GUIDCap how many it takes.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool set_guid 3 1 0x0002c90300001234
          ibtool set_guid -D 0 1 0002:c903:0000:1234 --dry-run
          ibtool smpquery GI 3
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val target = session.target(address)
        val capacity = session.fabric.get<PortInfo>(target.path).guidCap
        if (index !in 1 until maxOf(capacity, 1)) {
            val most = if (capacity > 1) "give 1 to ${capacity - 1}" else "$target takes none beside its own"
            throw DiagnosticException("there is no GUID $index to set: $most")
        }
        val block = session.fabric.get<GUIDInfo>(target.path, index / BLOCK)
        val text = "set GUID $index of $target to ${printable("$guid")}, which is ${block.guidBlock[index % BLOCK]}"
        if (isDry) return would(text)
        session.warn("set_guid: sets GUID $index of $target to $guid, which is ${block.guidBlock[index % BLOCK]}")
        block.guidBlock[index % BLOCK] = guid
        val after = session.fabric.set(target.path, block, index / BLOCK)
        val shown = (0 until BLOCK).map { after.guidBlock[it] }
        if (options.json) {
            print(JsonArray(shown.map { JsonPrimitive("$it") }))
        } else {
            shown.forEachIndexed { at, each -> line("[${(index / BLOCK) * BLOCK + at}] $each") }
        }
        if (shown[index % BLOCK] != guid) throw DiagnosticException("$target has not taken the GUID")
    }
}
