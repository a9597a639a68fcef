package org.kverbs.cli

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.types.choice
import java.lang.reflect.InvocationTargetException

/** `kverbs sample`: runs the main function of one of the programs in samples/, each of which is a file to read. */
class SampleCommand : CoreCliktCommand("sample") {
    private val program by argument("NAME", help = programs.keys.joinToString()).choice(programs)
    private val device by deviceOption("RDMA device (default the first)")

    override fun help(context: Context) = "Run a sample program on an RDMA device."

    /** Calls a sample's main by reflection: all mains have one name in one package, so that no call can name one. */
    override fun run() {
        val main = Class.forName("org.kverbs.samples.$program").getMethod("main", Array<String>::class.java)
        try {
            main.invoke(null, listOfNotNull(device).toTypedArray())
        } catch (e: InvocationTargetException) {
            throw e.targetException
        }
    }

    private companion object {
        /** The names on the command line, and the classes of the programs. */
        val programs =
            mapOf(
                "ten-lines" to "TenLinesKt",
                "java-echo" to "JavaEcho",
                "java-service" to "JavaService",
                "workers" to "WorkersKt",
                "echo" to "EchoKt",
                "orders" to "OrdersKt",
                "counter" to "CounterKt",
                "key-value" to "KeyValueKt",
                "upload" to "UploadKt",
                "vault" to "VaultKt",
                "reconnecting" to "ReconnectingKt",
                "thousand-clients" to "ThousandClientsKt",
                "topology" to "TopologyKt",
                "port-rates" to "PortRatesKt",
                "fabric-changes" to "FabricChangesKt",
            )
    }
}
