package org.kverbs.ibtool.smp

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.query.Secrets
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.target
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.SMInfo
import org.kverbs.management.structures.SMState
import org.kverbs.structures.toJson

/** `sminfo`: what a subnet manager says of itself. */
internal class SmInfoCommand : DiagnosticCommand("sminfo", "sK") {
    private val state by option("--state", "-s", metavar = "0-3", help = "The state to set")
        .convert {
            int(it)
        }.default(2)
    private val priority by option("--priority", "-p", metavar = "0-15", help = "The priority to set")
        .convert {
            int(it)
        }.default(0)
    private val activity by option("--activity", "-a", metavar = "N", help = "The activity count to set")
        .convert {
            number(it)
        }.default(0)
    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val address by argument(
        "address",
        help = "LID or directed path of the manager; this port's manager without it",
    ).optional()
    private val modifier by argument("modifier", help = "Set, with this attribute modifier")
        .convert {
            int(it)
        }.optional()

    override fun help(context: Context) = "Show the state of a subnet manager, and set it."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool sminfo
          ibtool sminfo 3
          ibtool sminfo -D 0,1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val address = address
        val target = if (address == null) manager(session) else session.target(address)
        val modifier = modifier ?: 0
        val sent =
            SMInfo {
                actCount = activity
                priority = this@SmInfoCommand.priority
                smState = SMState.of(state)
            }
        val what = "$sent at $target with modifier $modifier"
        if (modifier != 0 && isDry) return would("set $what")
        if (modifier != 0) session.warn("sminfo: sets $what")
        val info =
            if (modifier != 0) {
                session.fabric.set(target.path, sent, modifier)
            } else {
                session.get<SMInfo>(target.path)
            }
        if (options.json) {
            return print(
                // The key is never shown, as in the text: the command has no option for it.
                Secrets.without(JsonObject(mapOf("lid" to JsonPrimitive(target.lid)) + info.toJson())),
            )
        }
        val name = names.getOrElse(info.smState.value) { "???" }
        line(
            "sminfo: sm lid ${target.lid} sm guid 0x${hex(info.guid.value)}, activity count ${info.actCount} " +
                "priority ${info.priority} state ${info.smState.value} $name",
        )
    }

    private fun manager(session: Session): Target {
        val lid = session.fabric.port().info.masterSMLID
        if (!lid.isUnicast) throw DiagnosticException("this port knows no subnet manager")
        return Target(LidPath(lid))
    }

    private companion object {
        private val names = listOf("SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER")
    }
}
