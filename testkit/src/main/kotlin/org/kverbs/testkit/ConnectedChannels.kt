package org.kverbs.testkit

import org.kverbs.ConnectOptions
import org.kverbs.Context
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
 * Runs a coroutine, and those that it launches, on two connected message channels. What is said at
 * [connectedCoroutines] of time, threads, failures and waits in vain goes for it too.
 *
 * ```
 * test("should answer") {
 *     connectedChannels { client, server ->
 *         backgroundScope.launch { answer(server) }      // what is tested
 *         client.send("ping".encodeToByteArray())
 *         client.awaitMessage().decodeToString() shouldBe "pong"
 *         client.expectNoMessage()
 *     }
 * }
 * ```
 *
 * The channels' keep-alive goes by the clock of the test, too; while it is on, a wait in vain ends by the timeout.
 * They are closed after the block. Memory for the block is registered at
 * `client.queuePair.queuePair.protectionDomain()`.
 *
 * @param faults as for [connectedCoroutines], and so all parameters but [channel]
 * @param channel settings of both channels
 * @throws AssertionError if something leaked or was misused, or the time was over
 * @throws IllegalStateException if faults are asked of a real device
 * @throws org.kverbs.DeviceNotFoundException if there is no device of that name; names those there are
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
            context(loop.context()) // of the keep-alive
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

/** One end of [connectedChannels]. */
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
