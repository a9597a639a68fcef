package org.kverbs.testkit

import org.kverbs.Device

/** Shows the devices' counters under the failure of a test. */
internal class Counted(
    message: String,
) : Exception(message, null, false, false)

/** Describes a device's counters, without zeros. */
internal fun Device.counted(): String {
    val counters = counters().filterValues { it != 0L }.entries
    return "${name()} has counted " + counters.joinToString { (name, count) -> "$name $count" }.ifEmpty { "nothing" }
}

/** Runs a test. A failure shows the devices' counters at that time. */
internal inline fun <R> counting(
    client: Device,
    server: Device,
    block: () -> R,
): R =
    try {
        block()
    } catch (
        @Suppress("TooGenericExceptionCaught") e: Throwable,
    ) {
        val counted = runCatching { Counted("client: ${client.counted()}; server: ${server.counted()}") }
        e.addSuppressed(counted.getOrElse { it })
        throw e
    }
