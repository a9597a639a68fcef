package org.kverbs.testkit

import kotlinx.coroutines.CoroutineScope
import org.kverbs.Device
import org.kverbs.attributes.ConnectOptions
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.rdmaHost
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import java.net.InetAddress
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** The receiver of a [connectedHosts] block. */
public class ConnectedHosts internal constructor(
    devices: TestDevices,
    scope: CoroutineScope,
    backgroundScope: CoroutineScope,
) : ConnectedCoroutines(devices, scope, backgroundScope) {
    private val address: InetAddress by lazy { devices.server.address() }

    /** Returns a port of the server's device: `server` binds to it or listens at it, and `client` connects to it. */
    public fun serverAddress(port: Int): InetSocketAddress = InetSocketAddress(address, port)
}

/**
 * Runs a coroutine, and the coroutines that it launches, on two hosts, which connect by IP addresses: a service and its
 * client in one test. Time, threads, failures and waits in vain are the same as in [connectedCoroutines].
 *
 * ```
 * test("should answer") {
 *     connectedHosts { client, server ->
 *         // the code under test
 *         server.bind(serverAddress(7471)).serve(backgroundScope) { connection -> answer(connection) }
 *         val connection = client.connectMessages(serverAddress(7471))
 *         connection.send("ping".encodeToByteArray())
 *         connection.awaitMessage().decodeToString() shouldBe "pong"
 *     }
 * }
 * ```
 *
 * While a connection has its keep-alive on, only the timeout ends a wait in vain. A server gets the exceptions of its
 * handlers; an [Error], such as an assertion that failed, also fails the test.
 *
 * The hosts run their coroutines, and the handlers of their servers, on the test's thread and clock. They are closed
 * after the block, with their servers and connections. Anything else that the block opened and left open is a leak.
 *
 * @param faults as for [connectedCoroutines], like all parameters
 * @throws AssertionError if a resource leaked, memory was misused, or the timeout passed
 * @throws IllegalStateException if faults are requested on a real device
 * @throws org.kverbs.DeviceNotFoundException if no device has the requested name; the message lists the devices
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

/** Returns the IP address of the GID that connections to the device use. */
private fun Device.address(): InetAddress =
    open().use {
        InetAddress.getByAddress(it.queryGid(PORT, it.defaultGidIndex(PORT)).bytes())
    }

private const val PORT = 1
