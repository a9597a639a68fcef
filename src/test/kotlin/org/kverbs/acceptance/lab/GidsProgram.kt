@file:JvmName("GidsProgram")

package org.kverbs.acceptance.lab

import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.acceptance.contract.PORT

/** Prints the GIDs of the device named. Run by [OldReleaseSpec]. */
internal fun main(arguments: Array<String>) {
    Device.byName(arguments.single()).open().use { context -> gidLines(context, PORT).forEach(::println) }
}

/** Returns a line for each GID, and one for the default GID. */
internal fun gidLines(
    context: Context,
    port: Int,
): List<String> {
    val usual = context.queryGidEntry(port, context.defaultGidIndex(port))
    return context.queryGidTable().map { "$it" } + "default: $usual"
}
