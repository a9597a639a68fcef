package org.kverbs.testkit

import org.kverbs.ConnectOptions
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Semantics

/** What a test says of its devices and of what lies between them: the parameters of [connectedPair]. */
internal class TestSettings(
    val faults: Faults,
    val seed: Long,
    val options: ConnectOptions,
    val diagnostics: Boolean,
    val semantics: Semantics,
    val limits: DeviceLimits,
)

/** The two devices of a test, and the watch on what it opens there. */
internal class TestDevices(
    val settings: TestSettings,
    val fabric: EmbeddedFabric?,
    val client: Device,
    val server: Device,
    val watch: LeakWatch,
) {
    /** Called between the set-up and the block: what is open now is no leak, and from now on things go wrong. */
    fun begin() {
        fabric?.setFaults(settings.faults)
        watch.ignoreOpen()
    }
}

/** Runs a test on two devices of a fabric of its own, or on the real one for both. */
internal inline fun <R> onDevices(
    settings: TestSettings,
    block: TestDevices.() -> R,
): R {
    val name = System.getenv(TEST_DEVICE)
    if (name != null && settings.faults != Faults.NONE) throw impossibleOn(name)
    return watching { watch ->
        val fabric = if (name == null) EmbeddedFabric.virtual(settings.seed) else null
        // They tell at the end, and not in the log.
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

/** Opens a device for what is made on it, and closes it if that fails. */
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
        "$TEST_DEVICE puts this pair on $device, where the time is real and nothing can be made to go wrong: fabric, " +
            "clock and faults" +
            " belong to embedded devices. Unset $TEST_DEVICE for this test, or ask isEmbedded before.",
    )
