package org.kverbs.ibtool.session

import org.kverbs.RdmaException
import org.kverbs.umad.UmadPort
import java.nio.file.Path
import kotlin.io.path.isDirectory

/** ibsim's library in the place of the kernel, by LD_PRELOAD. */
internal object IbsimPreload {
    private const val LIBRARY = "libumad2sim.so"
    private const val SYSFS = "kverbs.sysfs"

    /** Lets the library make its folder in the place of /sys, if it is there. It does so at its first call. */
    fun prepare() {
        if (LIBRARY !in System.getenv("LD_PRELOAD").orEmpty() || System.getProperty(SYSFS) != null) return
        try {
            UmadPort.open("none", 1).close()
        } catch (_: RdmaException) {
            // There is no such device, and no simulator if the folder is not there now.
        }
        val folder = Path.of("sys-${ProcessHandle.current().pid()}", "sys").toAbsolutePath()
        if (folder.isDirectory()) System.setProperty(SYSFS, "$folder")
    }
}
