package org.kverbs.ibtool.local

import com.github.ajalt.clikt.core.Context
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex16

/** `ibv_devices`: the RDMA devices of this machine, RoCE and iWARP among them. */
internal class IbvDevicesCommand : DiagnosticCommand("ibv_devices", "DeGKLPsty") {
    override fun help(context: Context) = "List the RDMA devices of this machine with their GUIDs."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibv_devices
          ibtool ibv_devices --json | jq -r '.[].name'
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val all = LocalDevice.all(session)
        if (options.json) {
            val devices =
                all.map {
                    buildJsonObject {
                        put("name", it.name)
                        put("guid", SubnetJson.guid(it.guid))
                    }
                }
            return print(JsonArray(devices))
        }
        line("    ${"device".padEnd(WIDTH)}\t   node GUID")
        line("    ${"------".padEnd(WIDTH)}\t----------------")
        all.forEach { line("    ${it.name.padEnd(WIDTH)}\t${hex16(it.guid)}") }
    }

    private companion object {
        private const val WIDTH = 16
    }
}
