package org.kverbs.ibtool.ibcheck

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.target
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.transaction.MadException

/** `ibchecknode`: whether a node answers. */
internal class IbCheckNodeCommand : DiagnosticCommand("ibchecknode", "DKLes") {
    @Suppress("unused") // There are no colours.
    private val isPlain by option("-N", "--nocolor", help = "Does nothing: there are no colours").flag()
    private val address by argument("address", help = "LID, GUID, GID or name")

    override fun help(context: Context) = "Check whether a node answers. The exit status is 255 if it does not."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibchecknode 2
          ibtool ibchecknode -v -G 0x2c90200000010
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val target = session.byLid(session.target(address))
        val failure =
            try {
                session.get<NodeInfo>(target.path)
                null
            } catch (e: MadException) {
                e.message
            }
        when {
            options.json -> {
                print(
                    buildJsonObject {
                        put("lid", target.lid)
                        put("failure", failure)
                    },
                )
            }

            failure != null -> {
                line("#warn: $failure")
                line("Node check lid ${target.lid}:  FAILED")
            }

            options.verbose > 0 -> {
                line("Node check lid ${target.lid}:  OK")
            }
        }
        if (failure != null) throw ProgramResult(FAILED)
    }

    private companion object {
        private const val FAILED = 255
    }
}
