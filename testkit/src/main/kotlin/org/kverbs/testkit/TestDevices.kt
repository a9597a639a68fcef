package org.kverbs.testkit

import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.attributes.ConnectOptions
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics

/** Holds a test's settings of its devices and faults: the parameters of [connectedPair]. */
internal class TestSettings(
    val faults: Faults,
    val seed: Long,
    val options: ConnectOptions,
    val diagnostics: Boolean,
    val semantics: Semantics,
    val limits: DeviceLimits,
)

/** Holds the two devices of a test, and the watch on the resources that it opens. */
internal class TestDevices(
    val settings: TestSettings,
    val fabric: EmbeddedFabric?,
    val client: Device,
    val server: Device,
    val watch: LeakWatch,
) {
    /** Begins the test after the set-up: ignores the resources that are open now, and sets the faults. */
    fun begin() {
        fabric?.setFaults(settings.faults)
        watch.ignoreOpen()
    }
}

/** Runs a test on two devices of a new fabric, or twice on the real one. */
internal inline fun <R> onDevices(
    settings: TestSettings,
    block: TestDevices.() -> R,
): R {
    val name = System.getenv(TEST_DEVICE)
    if (name != null && settings.faults != Faults.NONE) throw impossibleOn(name)
    return watching { watch ->
        val fabric = if (name == null) EmbeddedFabric.virtual(settings.seed) else null
        // The check at the end reports the findings, not the log.
        if (settings.diagnostics) fabric?.diagnose { }
        fabric?.let(watch::include)
        (fabric ?: AutoCloseable { }).use {
            val devices =
                List(2) {
                    fabric?.addDevice(settings.semantics, settings.limits)
                        ?: Device.byName(checkNotNull(name))
                }
            // Some misuse shows only when the ends are closed.
            TestDevices(settings, fabric, devices[0], devices[1], watch).block().also { watch.check() }
        }
    }
}

/** Opens a device and makes an object on it; closes the device if that fails. */
internal inline fun <P> Device.opened(make: (Context) -> P): P {
    val context = open()
    try {
        return make(context)
    } catch (
        @Suppress("TooGenericExceptionCaught") e: Throwable,
    ) {
        context.close()
        throw e
    }
}

private inline fun <R> watching(block: (LeakWatch) -> R): R = StartedThreads.counting { LeakWatch().use(block) }

internal fun impossibleOn(device: String) =
    IllegalStateException(
        "$TEST_DEVICE puts this pair on $device, a real device, which has real time and no injected faults: fabric, " +
            "clock and faults" +
            " exist on embedded devices only. Unset $TEST_DEVICE for this test, or check isEmbedded first.",
    )
