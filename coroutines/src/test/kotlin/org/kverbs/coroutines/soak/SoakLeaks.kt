package org.kverbs.coroutines.soak

import org.kverbs.Context
import org.kverbs.dsl.KiB
import org.kverbs.dsl.openDevice
import java.io.FileInputStream
import java.lang.foreign.Arena

/** A leak of each kind, planted to show that [Flatness] sees it. */
internal class SoakLeaks {
    private val heap = ArrayList<ByteArray>()
    private val files = ArrayList<FileInputStream>()
    private val devices = ArrayList<Context>()

    /** Leaks some of all that a process can hold. */
    fun leak() {
        heap += ByteArray(MEGABYTE)
        Arena.global().allocate(512.KiB).fill(1)
        repeat(2) { files += FileInputStream("/dev/null") }
        repeat(2) { Thread.ofPlatform().daemon().start { Thread.sleep(Long.MAX_VALUE) } }
        devices += openDevice("embedded0")
    }

    private companion object {
        const val MEGABYTE = 1 shl 20
    }
}
