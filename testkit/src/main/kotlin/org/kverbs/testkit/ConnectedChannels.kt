package org.kverbs.testkit

import org.kverbs.Context
import org.kverbs.attributes.ConnectOptions
import org.kverbs.coroutines.MessageChannel
import org.kverbs.coroutines.MessageChannelBuilder
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.messageChannel
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Runs a coroutine, and the coroutines that it launches, on two connected message channels. Time, threads, failures and
 * waits in vain are the same as in [connectedCoroutines].
 *
 * ```
 * test("should answer") {
 *     connectedChannels { client, server ->
 *         backgroundScope.launch { answer(server) }      // the code under test
 *         client.send("ping".encodeToByteArray())
 *         client.awaitMessage().decodeToString() shouldBe "pong"
 *         client.expectNoMessage()
 *     }
 * }
 * ```
 *
 * The channels' keep-alive uses the test's clock, too. While a keep-alive is on, only the timeout ends a wait in vain.
 * The channels are closed after the block. Register memory for the block at
 * `client.queuePair.queuePair.protectionDomain()`.
 *
 * @param faults as for [connectedCoroutines], like all parameters except [channel]
 * @param channel settings of both channels
 * @throws AssertionError if a resource leaked, memory was misused, or the timeout passed
 * @throws IllegalStateException if faults are requested on a real device
 * @throws org.kverbs.DeviceNotFoundException if no device has the requested name; the message lists the devices
 */
public fun connectedChannels(
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    timeout: Duration = 10.seconds,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    channel: MessageChannelBuilder.() -> Unit = {},
    block: suspend ConnectedCoroutines.(client: MessageChannel, server: MessageChannel) -> Unit,
): Unit =
    onDevices(TestSettings(faults, seed, options, diagnostics, semantics, limits)) {
        val ends = mutableListOf<ChannelPeer>()
        val loop = loop { ends.sumOf { it.dispatcher.poll() } }
        val settings: MessageChannelBuilder.() -> Unit = {
            context(loop.context()) // context of the keep-alive
            channel()
        }
        client.opened { ChannelPeer(it, settings) }.use { here ->
            server.opened { ChannelPeer(it, settings) }.use { there ->
                here.connect(there, options)
                there.connect(here, options)
                ends += listOf(here, there)
                runOn(loop, timeout) { block(here.channel, there.channel) }.also {
                    here.channel.close()
                    there.channel.close()
                    watch.failOnLeaks { false }
                }
            }
        }
    }

/** Holds one end of [connectedChannels]. */
private class ChannelPeer(
    private val context: Context,
    settings: MessageChannelBuilder.() -> Unit,
) : AutoCloseable {
    val dispatcher = context.completionDispatcher { callerPolls() }
    val channel = dispatcher.messageChannel(context.protectionDomain(), settings)

    fun connect(
        peer: ChannelPeer,
        options: ConnectOptions,
    ) {
        channel.connect(peer.channel.queuePair.endpoint(options), peer.channel.hello, options)
    }

    override fun close(): Unit = context.close()
}
