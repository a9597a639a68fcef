@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import org.kverbs.ConnectOptions
import org.kverbs.Device
import org.kverbs.dsl.RC
import org.kverbs.dsl.Transport
import org.kverbs.dsl.Verbs
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.VirtualClock

/** The environment variable that names the real device that [connectedPair] takes instead of the embedded one. */
public const val TEST_DEVICE: String = "KVERBS_TEST_DEVICE"

/** What the block of a [connectedPair] can do to what lies between its ends. */
public open class ConnectedPair internal constructor(
    private val devices: TestDevices,
) {
    /**
     * Whether the ends are on embedded devices, so that there are a [fabric], a [clock] and [faults]; a test may ask
     * before.
     */
    public val isEmbedded: Boolean get() = devices.fabric != null

    /** The device of the client's end. */
    public val clientDevice: Device get() = devices.client

    /** The device of the server's end; on a real device both ends have the same. */
    public val serverDevice: Device get() = devices.server

    /**
     * The fabric of the two embedded devices, `fabric.devices()`, client first.
     *
     * @throws IllegalStateException if the pair is on a real device
     */
    public val fabric: EmbeddedFabric get() = devices.fabric ?: throw impossibleOn(System.getenv(TEST_DEVICE))

    /** The clock that the timeouts of the pair go by; it moves when a test waits. Fails as [fabric] does. */
    public val clock: VirtualClock get() = fabric.clock()

    /** Sets what goes wrong between the ends from now on. Fails as [fabric] does. */
    public fun faults(faults: Faults): Unit = fabric.setFaults(faults)
}

/**
 * Runs a test on two connected ends: on two embedded devices with a virtual clock, or both on the device that the
 * environment variable [TEST_DEVICE] names. Afterwards the ends are closed, and if the block left open what it opened,
 * by whatever means, the test fails and shows where that was opened ([LeakWatch]); it fails, too, if a work request
 * failed and the block did not await it. Tests may run at the same time: each has devices of its own.
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
 * A failure of the block shows what both devices have counted ([Device.counters]), as an exception that it suppressed.
 *
 * It returns nothing, so that it can be the whole body of a test: JUnit runs no function that returns a value.
 *
 * From Java: `Testkit.connectedPair((pair, client, server) -> { ...; return null; })`, in which the pair has what
 * Kotlin finds in the block.
 *
 * @param faults what goes wrong from the start, after the ends are connected; on a real device none can
 * @param seed what the faults, keys and numbers follow from; a real device chooses by itself
 * @param diagnostics whether the use of memory that is posted fails the test, too ([EmbeddedFabric.diagnose]); the
 *   message shows where it was posted. A real device can't tell, and nothing is watched there
 * @param semantics how strict the embedded devices are; a real device is as it is
 * @param limits those of each embedded device, of which the end takes the first objects
 * @throws AssertionError if something leaked, or was misused
 * @throws IllegalStateException if faults are asked of a real device
 * @throws org.kverbs.DeviceNotFoundException if there is no device of that name; names those there are
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
 * The same with queue pairs of another type: `connectedPair(UC) { client, server -> }`, or with
 * [UD][org.kverbs.dsl.UD], whose ends [send][TestPeer.send] to each other, and elsewhere by [TestPeer.destination].
 *
 * @throws AssertionError if something leaked, or was misused
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
