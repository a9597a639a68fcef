package org.kverbs.cli

import com.github.ajalt.clikt.completion.CompletionCandidates
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import java.lang.reflect.InvocationTargetException

/** `kverbs sample`: runs the main function of one of the programs in samples/, each of which is a file to read. */
class SampleCommand : CoreCliktCommand("sample") {
    private val program by argument(
        "NAME",
        help = "The program to run",
        completionCandidates = CompletionCandidates.Fixed(samples.keys),
    ).convert { name ->
        val similar = context.suggestTypoCorrection(name, samples.keys.toList())
        val meant = if (similar.isEmpty()) "" else ". Did you mean ${similar.joinToString(" or ")}?"
        samples[name] ?: fail("no such sample $name$meant")
    }
    private val device by deviceOption("RDMA device (default the first)")

    override fun help(context: Context) =
        "Run a sample program on an RDMA device. The three of a fabric take a port, --device mlx5_0/1, and ask a " +
            "simulated fabric without one."

    override fun helpEpilog(context: Context): String {
        val width = samples.keys.maxOf { it.length }
        return "Programs:\n" + samples.map { (name, it) -> "  ${name.padEnd(width)}  ${it.shows}" }.joinToString("\n")
    }

    /** Calls a sample's main by reflection: all mains have one name in one package, so that no call can name one. */
    override fun run() {
        val type = Class.forName("org.kverbs.samples.${program.type}")
        val main = type.getMethod("main", Array<String>::class.java)
        try {
            main.invoke(null, listOfNotNull(device).toTypedArray())
        } catch (e: InvocationTargetException) {
            throw e.targetException
        }
    }

    private class Sample(
        val type: String,
        val shows: String,
    )

    private companion object {
        /** The programs by their names on the command line. */
        val samples =
            mapOf(
                "ten-lines" to Sample("TenLinesKt", "Sends a message from one queue pair to another."),
                "java-echo" to Sample("JavaEcho", "Sends a message there and back, in Java."),
                "java-endpoint" to Sample("JavaEndpoint", "Connects by address and sends a message, in Java."),
                "java-service" to Sample("JavaService", "Serves clients on virtual threads, in Java."),
                "workers" to Sample("WorkersKt", "Serves clients with a few workers and one shared receive queue."),
                "echo" to Sample("EchoKt", "Sends messages back: a server and a client of coroutines."),
                "orders" to Sample("OrdersKt", "Has a hundred typed requests under way on one connection."),
                "counter" to Sample("CounterKt", "Lets clients count in the server's memory by atomics."),
                "key-value" to Sample("KeyValueKt", "Serves a table that clients read by one-sided reads."),
                "upload" to Sample("UploadKt", "Stores only files that a client has sent completely."),
                "vault" to Sample("VaultKt", "Serves only clients that have the secret."),
                "reconnecting" to Sample("ReconnectingKt", "Goes on with a new connection after a lost one."),
                "thousand-clients" to Sample("ThousandClientsKt", "Sends a request on a thousand connections at once."),
                "topology" to Sample("TopologyKt", "Prints a fabric as a graph for Graphviz."),
                "port-rates" to Sample("PortRatesKt", "Reads the counters of a fabric, and prints the busiest ports."),
                "fabric-changes" to Sample("FabricChangesKt", "Waits for a trap, and prints what changed in a fabric."),
            )
    }
}
