package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.connectOptions
import org.kverbs.dsl.openDevice

/**
 * Two connected channels, on one embedded device or on two. A message that finds no receive fails the test: no side
 * retries.
 */
class TwoChannels(
    clientSettings: MessageChannelBuilder.() -> Unit = {},
    serverSettings: MessageChannelBuilder.() -> Unit = clientSettings,
    private val clientDevice: Context = openDevice("embedded0"),
    private val serverDevice: Context = clientDevice,
    options: ConnectOptions = connectOptions { rnrRetry(0) },
) : AutoCloseable {
    val clientDispatcher = clientDevice.completionDispatcher()
    val serverDispatcher = serverDevice.completionDispatcher()
    val clientPd = clientDevice.protectionDomain()
    val serverPd = serverDevice.protectionDomain()
    val client = clientDispatcher.messageChannel(clientPd, clientSettings)
    val server = serverDispatcher.messageChannel(serverPd, serverSettings)

    init {
        val clientEnd = client.queuePair.endpoint(options)
        val serverEnd = server.queuePair.endpoint(options)
        // Both have their receives posted before either sends.
        client.connect(serverEnd, server.hello, options)
        server.connect(clientEnd, client.hello, options)
    }

    override fun close() {
        clientDevice.close()
        if (serverDevice !== clientDevice) serverDevice.close()
    }
}
