package org.kverbs.ibtool.services

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.portNumber
import org.kverbs.management.path.LidPath
import org.kverbs.structures.toJson

/** `ibsendtrap`: a trap of this port to the subnet manager, to see what it does. */
internal class IbSendTrapCommand : DiagnosticCommand("ibsendtrap", "DGKL") {
    private val isDry by option("--dry-run", help = "Say what would be sent, and do not do it").flag()
    private val trap by argument("trap", help = "The trap; node_desc_change without it")
        .convert { word ->
            requireNotNull(TrapKind.entries.firstOrNull { it.word == word }) {
                "give one of ${TrapKind.entries.joinToString { it.word }}"
            }
        }.default(TrapKind.NODE_DESC_CHANGE)
    private val errorPort by argument("error_port", help = "The port that local_link_integrity is of; 1 without it")
        .convert { portNumber(it) }
        .default(1)

    override fun help(context: Context) =
        "Send a trap of this port to the subnet manager: ${TrapKind.entries.joinToString { it.word }}."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibsendtrap
          ibtool ibsendtrap local_link_integrity 2
          ibtool ibsendtrap pkey --dry-run
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val port = session.fabric.port()
        val notice = trap.notice(port.node, port.info, errorPort)
        val manager = port.info.masterSMLID
        if (!manager.isUnicast) throw DiagnosticException("can't resolve SM destination port")
        if (isDry &&
            !options.json
        ) {
            return line("would send ${trap.word} to the subnet manager at LID $manager: $notice")
        }
        if (!isDry) {
            session.warn("ibsendtrap: sends ${trap.word} to the subnet manager at LID $manager")
            session.fabric.trap(LidPath(manager, serviceLevel = port.info.masterSMSL), notice)
        }
        if (options.json) print(notice.toJson())
    }
}
