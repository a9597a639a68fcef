@file:JvmName("MemlockProgram")

package org.kverbs.acceptance.lab

import org.kverbs.Device
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag

/** Registers a page on the device named, then 1 MiB, and prints the refusal. Run by [MemlockSpec]. */
internal fun main(arguments: Array<String>) {
    Device.byName(arguments.single()).open().use { context ->
        val pd = context.protectionDomain()
        pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
        println("a page was registered")
        try {
            pd.memoryRegion(1 shl 20, AccessFlag.LOCAL_WRITE)
            println("1 MiB was registered too")
        } catch (e: RdmaSystemException) {
            println(e.message)
        }
    }
}
