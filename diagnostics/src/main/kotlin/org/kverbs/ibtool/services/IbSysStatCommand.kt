package org.kverbs.ibtool.services

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.coroutines.awaitCancellation
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.OpenIBCpuInfo
import org.kverbs.management.structures.OpenIBHostInfo
import org.kverbs.management.structures.OpenIBSysstatPing
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.ServedClass

/** `ibsysstat`: what the other side's `ibsysstat -S` says of its host. */
internal class IbSysStatCommand : DiagnosticCommand("ibsysstat", "DKyo") {
    private val oui by option("--oui", "-o", metavar = "OUI", help = "The vendor of the class; OpenIB without it")
        .convert { vendor(it) }
        .default(OPENIB)
    private val isServer by option("--Server", "-S", help = "Answer what is asked, until Ctrl-C").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name of the server").optional()
    private val operation by argument("op", help = "ping, host or cpu; ping without it")
        .convert { word ->
            requireNotNull(SystemOperation.entries.firstOrNull { it.word == word }) { "give ping, host or cpu" }
        }.default(SystemOperation.PING)

    override fun help(context: Context) = "Ask a port on which ibsysstat -S runs for its host's name and processors."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibsysstat -S
          ibtool ibsysstat 4
          ibtool ibsysstat 4 cpu
        """.trimIndent()

    override fun FabricBuilder.configure() = vendor(oui)

    override suspend fun execute(session: Session) {
        if (isServer) return serve(session)
        val target = session.byLid(session.target(address ?: throw UsageError("give the address of a server, or -S")))
        val text =
            try {
                ask(session, target.path as LidPath)
            } catch (e: MadException) {
                throw DiagnosticException("ibsystat to $target: ${e.message}", cause = e)
            }
        when {
            options.json -> print(buildJsonObject { put(operation.word, text) })
            operation == SystemOperation.PING -> line("sysstat ping succeeded")
            else -> line(text)
        }
    }

    private suspend fun ask(
        session: Session,
        path: LidPath,
    ): String =
        when (operation) {
            SystemOperation.PING -> {
                session.fabric.get<OpenIBSysstatPing>(path)
                "succeeded"
            }

            SystemOperation.HOST -> {
                text(session.fabric.getLong(OpenIBHostInfo, path))
            }

            SystemOperation.CPU -> {
                text(session.fabric.getLong(OpenIBCpuInfo, path))
            }
        }

    /** The text of an answer, up to its NUL byte. What would move the cursor of a terminal is no part of it. */
    private fun text(bytes: ByteArray): String {
        val end = bytes.indexOf(0)
        val text = String(bytes, 0, if (end < 0) bytes.size else end)
        return text.lines().joinToString("\n", transform = ::printable)
    }

    private suspend fun serve(session: Session) {
        val service = ServedClass(ManagementClass.OPENIB_SYSSTAT, vendor = oui)
        session.fabric.serve(service, HostServer::system).use { awaitCancellation() }
    }
}
