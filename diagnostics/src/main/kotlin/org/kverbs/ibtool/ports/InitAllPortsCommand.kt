package org.kverbs.ibtool.ports

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.SubnetLink
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.transaction.MadException

/** `init_all_ports`: makes all links active, as the last step of a subnet manager does. */
internal class InitAllPortsCommand : DiscoveringCommand("init_all_ports", "DGKLs", hasCache = false) {
    private val isDry by option("--dry-run", help = "Say which ports would be set, and do not do it").flag()

    override fun help(context: Context) =
        """
        Make all ports active that have a link and are in the state Initialize or Armed.

        It sets no LIDs and no forwarding tables: a fabric without a subnet manager passes on directed routes alone.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool init_all_ports --dry-run
          ibtool init_all_ports
          ibtool init_all_ports --json | jq .active
        """.trimIndent()

    override suspend fun execute(session: Session) {
        if (isLoaded) {
            throw DiagnosticException(
                "a saved topology says nothing of the ports now: leave out --load-cache",
            )
        }
        val subnet = subnet(session)
        session.requireWhole()
        val links = subnet.links.filter { link -> link.ends.any { it.state in BEFORE } }
        val ports = links.flatMap { it.ends }.filter { it.state in BEFORE }
        if (isDry) {
            return would("make ${ports.size} ports of ${links.size} links active" + ports.joinToString("") { "\n$it" })
        }
        session.warn("init_all_ports: makes ${ports.size} ports of ${links.size} links active")
        val failures = ArrayList<String>()
        for (link in links) {
            try {
                activate(session, link)
            } catch (e: MadException) {
                failures += "$link: ${e.message}"
            }
        }
        failures.forEach { session.warn("init_all_ports: $it") }
        if (options.json) {
            print(
                buildJsonObject {
                    put("links", links.size)
                    put("active", links.size - failures.size)
                    put("failures", JsonArray(failures.map(::JsonPrimitive)))
                },
            )
        } else {
            line("${links.size - failures.size} of ${links.size} links are active now")
        }
        if (failures.isNotEmpty()) throw ProgramResult(1)
    }

    /** Neither end may be more than one step ahead of the other. */
    private suspend fun activate(
        session: Session,
        link: SubnetLink,
    ) {
        for (port in link.ends) if (port.state == PortState.INIT) set(session, port, PortOperation.ARM)
        for (port in link.ends) if (port.state in BEFORE) set(session, port, PortOperation.ACTIVE)
    }

    private suspend fun set(
        session: Session,
        port: SubnetPort,
        operation: PortOperation,
    ) {
        val path = port.node.path
        val here = PortView.of(session, path, "$path", port.node.info, port.number)
        session.fabric.set(path, PortChange.of(operation).request(here.info), here.modifier)
    }

    private companion object {
        private val BEFORE = setOf(PortState.INIT, PortState.ARMED)
    }
}
