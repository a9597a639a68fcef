package org.kverbs.samples

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.types.choice

/** `kverbs sample`: runs one of the small programs of this package, each of which is a file to read. */
class SampleCommand : CoreCliktCommand("sample") {
    private val program by argument("NAME", help = programs.keys.joinToString()).choice(programs)
    private val device by deviceOption("RDMA device (default the first)")

    override fun help(context: Context) = "Run a sample program on an RDMA device."

    override fun run() = program(device)

    private companion object {
        /** Each is a file of this package; Services.kt runs a server and its client together. */
        val programs: Map<String, (String?) -> Unit> =
            mapOf(
                "ten-lines" to ::tenLines,
                "java-echo" to { device -> JavaEcho.main(listOfNotNull(device).toTypedArray()) },
                "java-service" to { device -> JavaService.main(listOfNotNull(device).toTypedArray()) },
                "workers" to ::workers,
                "echo" to ::echo,
                "orders" to ::orders,
                "counter" to ::counter,
                "key-value" to ::keyValue,
                "upload" to ::upload,
                "vault" to ::vault,
                "reconnecting" to ::reconnecting,
                "thousand-clients" to ::thousandClients,
            )
    }
}
