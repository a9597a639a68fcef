package org.kverbs.ibtool.local

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.multiple
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.printable

/** `ibstatus`: the ports of this machine, with what the kernel tells of them. */
internal class IbStatusCommand : DiagnosticCommand("ibstatus", "DeGKLPsty") {
    private val places by argument("device", help = "A device, or a port of one: mlx5_0:1; all without it").multiple()

    override fun help(context: Context) = "Show the state of the ports of this machine."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibstatus
          ibtool ibstatus mlx5_0:1
          ibtool ibstatus --json | jq -r '.[].state'
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val all = PortStatus.all(session)
        if (all.isEmpty()) throw DiagnosticException(IbStatCommand.NOTHING)
        val chosen = if (places.isEmpty()) all else places.flatMap { find(all, it) }
        if (options.json) {
            return print(
                JsonArray(
                    chosen.map { port ->
                        JsonObject(port.fields.mapValues { JsonPrimitive(it.value) })
                    },
                ),
            )
        }
        chosen.forEach { print(it.text()) }
    }

    private fun find(
        all: List<PortStatus>,
        place: String,
    ): List<PortStatus> {
        val device = place.substringBefore(':')
        val ofDevice = all.filter { it.device == device }
        val number = place.substringAfter(':', "")
        val found = if (number.isEmpty()) ofDevice else ofDevice.filter { it.number == int(number) }
        if (found.isNotEmpty()) return found
        val names = all.joinToString { "${it.device}:${it.number}" }
        throw DiagnosticException("there is no device or port ${printable(place)}; there are $names")
    }
}
