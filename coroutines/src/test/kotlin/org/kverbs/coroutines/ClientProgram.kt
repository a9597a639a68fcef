@file:JvmName("ClientProgram")

package org.kverbs.coroutines

import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import java.net.InetSocketAddress
import kotlin.system.exitProcess

/** Connects to a server, sends a message and ends in the given way without closing anything: see [ProcessEndSpec]. */
internal fun main(arguments: Array<String>) {
    val (how, server, port) = arguments
    runBlocking {
        val connection = rdmaHost { provider("embedded") }.connectMessages(InetSocketAddress(server, port.toInt()))
        connection.send("I am here".encodeToByteArray())
        if (how == "is killed as a sender") connection.send(ByteArray(1_000_000))
        if (how == "gets SIGTERM" || how.startsWith("is killed")) awaitCancellation()
    }
    if (how == "exits") exitProcess(3)
}
