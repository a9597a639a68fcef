package org.kverbs.testkit

import org.kverbs.Device

/** What the devices of a failed test have counted; stands under its failure. */
internal class Counted(
    message: String,
) : Exception(message, null, false, false)

/** What a device has counted, without what is zero. */
internal fun Device.counted(): String {
    val counters = counters().filterValues { it != 0L }.entries
    return "${name()} has counted " + counters.joinToString { (name, count) -> "$name $count" }.ifEmpty { "nothing" }
}

/** Runs a test, whose failure shows what the devices have counted until then. */
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
