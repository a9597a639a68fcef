package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import org.kverbs.ConnectOptions
import org.kverbs.Device
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.rdmaHost
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import java.net.InetAddress
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** What the block of [connectedHosts] has beside the two hosts. */
public class ConnectedHosts internal constructor(
    devices: TestDevices,
    scope: CoroutineScope,
    backgroundScope: CoroutineScope,
) : ConnectedCoroutines(devices, scope, backgroundScope) {
    private val address: InetAddress by lazy { devices.server.address() }

    /** A port of the server's device: where `server` binds or listens, and what `client` connects to. */
    public fun serverAddress(port: Int): InetSocketAddress = InetSocketAddress(address, port)
}

/**
 * Runs a coroutine, and those that it launches, on two hosts, which connect by IP addresses: a service and its client
 * in one test. What is said at [connectedCoroutines] of time, threads, failures and waits in vain goes for it too.
 *
 * ```
 * test("should answer") {
 *     connectedHosts { client, server ->
 *         server.bind(serverAddress(7471)).serve(backgroundScope) { connection -> answer(connection) }  // what is tested
 *         val connection = client.connectMessages(serverAddress(7471))
 *         connection.send("ping".encodeToByteArray())
 *         connection.awaitMessage().decodeToString() shouldBe "pong"
 *     }
 * }
 * ```
 *
 * A wait in vain ends by the timeout as long as a connection has its keep-alive on. What a handler of a server throws
 * is told to that server; an [Error], such as an assertion that failed, fails the test, too.
 *
 * The hosts run their coroutines, and the handlers of their servers, on the test's thread and clock. They are closed
 * after the block, and with them their servers and connections; what the block opened otherwise, and left open, is a
 * leak.
 *
 * @param faults as for [connectedCoroutines], and so all parameters
 * @throws AssertionError if something leaked or was misused, or the time was over
 * @throws IllegalStateException if faults are asked of a real device
 * @throws org.kverbs.DeviceNotFoundException if there is no device of that name; names those there are
 */
public fun connectedHosts(
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    diagnostics: Boolean = false,
    timeout: Duration = 10.seconds,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: suspend ConnectedHosts.(client: RdmaHost, server: RdmaHost) -> Unit,
): Unit =
    onDevices(TestSettings(faults, seed, ConnectOptions.DEFAULTS, diagnostics, semantics, limits)) {
        val hosts = mutableListOf<RdmaHost>()
        val loop = loop { hosts.sumOf { it.poll() } }
        listOf(client, server).forEach { hosts += host(it, loop) }
        val (here, there) = hosts
        here
            .use {
                there.use {
                    begin()
                    counting(client, server) {
                        loop.run(timeout) { ConnectedHosts(this@onDevices, this, loop.background).block(here, there) }
                    }
                }
            }.also { watch.failOnLeaks { false } }
    }

private fun host(
    device: Device,
    loop: TestLoop,
): RdmaHost =
    rdmaHost {
        device(device)
        this.context(loop.context())
        callerPolls()
    }

/** That of the GID that connections to the device use. */
private fun Device.address(): InetAddress =
    open().use {
        InetAddress.getByAddress(it.queryGid(PORT, it.defaultGidIndex(PORT)).bytes())
    }

private const val PORT = 1
