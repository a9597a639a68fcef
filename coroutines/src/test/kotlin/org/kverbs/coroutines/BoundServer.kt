package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeout
import java.net.InetSocketAddress
import kotlin.time.Duration.Companion.seconds

/** The handler of a server that sends back each message. */
internal val ECHO: suspend CoroutineScope.(
    MessageConnection,
) -> Unit = { for (message in it.incoming) it.send(message) }

internal suspend fun MessageConnection.ask(question: String): String {
    send(question.encodeToByteArray())
    return receive().decodeToString()
}

/** Runs a block with a server on an embedded device, and another host for its clients. */
internal suspend fun bound(
    settings: ServerBuilder.() -> Unit = {},
    block: suspend CoroutineScope.(server: RdmaServer, client: RdmaHost, address: InetSocketAddress) -> Unit,
) = coroutineScope {
    rdmaHost { provider("embedded") }.use { host ->
        host.bind(0, settings).use { server ->
            rdmaHost {
                provider(
                    "embedded",
                )
            }.use { block(server, it, InetSocketAddress("127.0.0.1", server.address.port)) }
        }
    }
}

/** The server's end of a client's connection: the client can be up before the server has heard of it. */
internal suspend fun RdmaServer.endOf(client: MessageConnection): MessageConnection =
    withTimeout(20.seconds) {
        var end: MessageConnection? = null
        while (end == null) {
            end = connections.find { it.remoteAddress == client.localAddress }
            delay(1)
        }
        end
    }
