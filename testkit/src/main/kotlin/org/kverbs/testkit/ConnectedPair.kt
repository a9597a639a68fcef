@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import org.kverbs.Device
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.RC
import org.kverbs.dsl.Transport
import org.kverbs.dsl.Verbs
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.VirtualClock

/** Names the environment variable that selects a real device for [connectedPair] instead of the embedded one. */
public const val TEST_DEVICE: String = "KVERBS_TEST_DEVICE"

/** The receiver of a [connectedPair] block: controls the devices and the faults between them. */
public open class ConnectedPair internal constructor(
    private val devices: TestDevices,
) {
    /**
     * Whether the ends are on embedded devices. Only then are there a [fabric], a [clock] and [faults]; a test can
     * check this before it uses them.
     */
    public val isEmbedded: Boolean get() = devices.fabric != null

    /** The device of the client's end. */
    public val clientDevice: Device get() = devices.client

    /** The device of the server's end. On a real device both ends share it. */
    public val serverDevice: Device get() = devices.server

    /**
     * The fabric of the two embedded devices, `fabric.devices()`, client first.
     *
     * @throws IllegalStateException if the pair is on a real device
     */
    public val fabric: EmbeddedFabric get() = devices.fabric ?: throw impossibleOn(System.getenv(TEST_DEVICE))

    /** The clock of the pair's timeouts; it moves when a test waits. Throws as [fabric] does. */
    public val clock: VirtualClock get() = fabric.clock()

    /** Sets the faults between the ends from now on. Throws as [fabric] does. */
    public fun faults(faults: Faults): Unit = fabric.setFaults(faults)
}

/**
 * Runs a test on two connected ends: on two embedded devices with a virtual clock, or both on the device that the
 * environment variable [TEST_DEVICE] names. Afterwards the ends are closed. The test fails if the block left a resource
 * open, and shows where it was opened ([LeakWatch]). The test also fails if a work request failed and the block did not
 * await it. Tests may run at the same time: each has its own devices.
 *
 * ```
 * test("should echo what was sent") {
 *     connectedPair { client, server ->
 *         server.postReceive(64)
 *         client.send("ping".encodeToByteArray())
 *         server.awaitReceive() shouldHaveText "ping"
 *     }
 * }
 * ```
 *
 * If the block fails, its exception shows the counters of both devices ([Device.counters]) as a suppressed exception.
 *
 * The function returns nothing, so that it can be the whole body of a test: JUnit skips test functions that return a
 * value.
 *
 * From Java: `Testkit.connectedPair((pair, client, server) -> { ...; return null; })`. There `pair` has the members
 * that Kotlin finds in the block.
 *
 * @param faults the faults after the ends are connected; a real device has none
 * @param seed decides the faults, keys and numbers; a real device chooses by itself
 * @param diagnostics whether misuse of posted memory fails the test, too ([EmbeddedFabric.diagnose]); the message shows
 *     where the memory was posted. On a real device memory is not watched
 * @param semantics how strict the embedded devices are; no effect on a real device
 * @param limits the limits of each embedded device; each end uses the first few objects
 * @throws AssertionError if a resource leaked, or memory was misused
 * @throws IllegalStateException if faults are requested on a real device
 * @throws org.kverbs.DeviceNotFoundException if no device has the requested name; the message lists the devices
 */
@JvmOverloads
public fun connectedPair(
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: ConnectedPair.(client: TestPeer, server: TestPeer) -> Unit,
): Unit = connectedPair(RC, faults, seed, options, diagnostics, semantics, limits, block)

/**
 * Does the same with queue pairs of another type: `connectedPair(UC) { client, server -> }`. With
 * [UD][org.kverbs.dsl.UD] the ends [send][TestPeer.send] to each other; other datagrams need [TestPeer.destination].
 *
 * @throws AssertionError if a resource leaked, or memory was misused
 */
@JvmOverloads
public fun connectedPair(
    transport: Transport<Verbs>,
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: ConnectedPair.(client: TestPeer, server: TestPeer) -> Unit,
): Unit =
    onDevices(TestSettings(faults, seed, options, diagnostics, semantics, limits)) {
        val idleness = Idleness(fabric?.clock())
        client.opened { TestPeer(it, transport, idleness) }.use { here ->
            server.opened { TestPeer(it, transport, idleness) }.use { there ->
                here.connect(there, options)
                there.connect(here, options)
                begin()
                counting(client, server) { ConnectedPair(this).block(here, there) }.also {
                    here.failOnUnawaited("client")
                    there.failOnUnawaited("server")
                    watch.failOnLeaks { it in here.buffers || it in there.buffers }
                }
            }
        }
    }
