@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import org.kverbs.ConnectOptions
import org.kverbs.Device
import org.kverbs.Diagnostics
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.VirtualClock

/** The environment variable that names the real device that [connectedPair] takes instead of the embedded one. */
public const val TEST_DEVICE: String = "KVERBS_TEST_DEVICE"

/** What the block of a [connectedPair] can do to what lies between its ends. */
public open class ConnectedPair internal constructor(
    private val embedded: EmbeddedFabric?,
) {
    /** Whether the ends are on embedded devices, so that there are a [fabric], a [clock] and [faults]; a test may ask before. */
    public val isEmbedded: Boolean get() = embedded != null

    /**
     * The fabric of the two embedded devices, `fabric.devices()`, client first.
     *
     * @throws IllegalStateException if the pair is on a real device
     */
    public val fabric: EmbeddedFabric get() = embedded ?: throw impossibleOn(System.getenv(TEST_DEVICE))

    /** The clock that the timeouts of the pair go by; it moves when a test waits. Fails as [fabric] does. */
    public val clock: VirtualClock get() = fabric.clock()

    /** Sets what goes wrong between the ends from now on. Fails as [fabric] does. */
    public fun faults(faults: Faults): Unit = fabric.setFaults(faults)
}

/**
 * Runs a test on two connected ends: on two embedded devices with a virtual clock, or both on the device that the environment variable
 * [TEST_DEVICE] names. Afterwards the ends are closed, and if the block left open what it opened, by whatever means, the test fails and
 * shows where that was opened.
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
 * From Java: `Testkit.connectedPair((pair, client, server) -> { ...; return null; })`, in which the pair has what Kotlin finds in the block.
 *
 * @param faults what goes wrong from the start, after the ends are connected; on a real device none can
 * @param seed what the faults, keys and numbers follow from; a real device chooses by itself
 * @param diagnostics whether the use of memory that is posted fails the test, too ([EmbeddedFabric.diagnose]); the message shows where
 *   it was posted. A real device can't tell, and nothing is watched there
 * @param semantics how strict the embedded devices are; a real device is as it is
 * @param limits those of each embedded device, of which the end takes the first objects
 * @throws AssertionError if something leaked, or was misused
 * @throws IllegalStateException if faults are asked of a real device
 * @throws org.kverbs.DeviceNotFoundException if there is no device of that name; names those there are
 */
@JvmOverloads
public fun <R> connectedPair(
    faults: Faults = Faults.NONE,
    seed: Long = 1,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    diagnostics: Boolean = false,
    semantics: Semantics = Semantics.STRICT,
    limits: DeviceLimits = DeviceLimits.DEFAULTS,
    block: ConnectedPair.(client: TestPeer, server: TestPeer) -> R,
): R =
    onDevices(faults, seed, diagnostics, semantics, limits) { fabric, device ->
        TestPeer(device(), fabric?.clock()).use { client ->
            TestPeer(device(), fabric?.clock()).use { server ->
                client.qp.connect(server.qp.endpoint(options), options)
                server.qp.connect(client.qp.endpoint(options), options)
                fabric?.setFaults(faults)
                val before = open()
                counting(client.device, server.device) { ConnectedPair(fabric).block(client, server) }
                    .also { failOnLeaks(before + client.buffers + server.buffers) }
            }
        }
    }

/** Runs what makes its ends on devices of a fabric of their own, or on the real one, for which there is no fabric. */
internal inline fun <R> onDevices(
    faults: Faults,
    seed: Long,
    diagnostics: Boolean,
    semantics: Semantics,
    limits: DeviceLimits,
    block: (fabric: EmbeddedFabric?, device: () -> Device) -> R,
): R {
    Diagnostics.enable()
    val name = System.getenv(TEST_DEVICE)
    if (name != null && faults != Faults.NONE) throw impossibleOn(name)
    val fabric = if (name == null) EmbeddedFabric.virtual(seed) else null
    // They tell at the end, and not in the log.
    if (diagnostics) fabric?.diagnose { }
    return (fabric ?: AutoCloseable { }).use {
        val result = block(fabric) { fabric?.addDevice(semantics, limits) ?: Device.byName(name) }
        failOnMisuses(fabric?.misuses().orEmpty())
        result
    }
}

internal fun impossibleOn(device: String) =
    IllegalStateException(
        "$TEST_DEVICE puts this pair on $device, where the time is real and nothing can be made to go wrong: fabric, clock and faults" +
            " belong to embedded devices. Unset $TEST_DEVICE for this test, or ask isEmbedded before.",
    )
