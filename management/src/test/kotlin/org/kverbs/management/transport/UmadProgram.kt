package org.kverbs.management.transport

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.Gid
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.directed
import org.kverbs.management.port.endPort
import org.kverbs.management.port.endPorts
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.SMInfoRecord
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.umad.UmadPort
import java.nio.file.Path
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/**
 * Asks a fabric through libibumad. The spec runs it in a process in which a library of ibsim stands in for the kernel.
 */
internal object UmadProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        try {
            UmadPort.open("none", 1)
        } catch (e: RdmaSystemException) {
            println(e.message)
        }
        // That library has made its folder of /sys at the first call.
        val sysfs = Path.of("sys-${ProcessHandle.current().pid()}").toAbsolutePath()
        System.setProperty("kverbs.sysfs", "$sysfs/sys")
        if (arguments.isEmpty()) askNodes() else askAdministrator()
    }

    private val PATIENCE = 30.seconds

    private fun askAdministrator() =
        runBlocking {
            endPort().fabric().use { fabric ->
                println(fabric.sa.path(Gid.parse("fe80::2:c902:0:21")).path)
                println(fabric.sa.records<SMInfoRecord>().size)
            }
        }

    private fun askNodes() {
        println("${endPorts()} ${endPort()} ${endPort().portGuid} ${endPort().state}")
        runBlocking {
            endPort("ibsim0/1").fabric { timeout(PATIENCE).also { retries(1) } }.use { fabric ->
                println(fabric.port())
                println(fabric.get<NodeInfo>(directed(0)).nodeGUID)
                val switch = fabric.get<NodeInfo>(directed(0, 1))
                println("${switch.nodeType} ${switch.nodeGUID}")
                val answers = List(2_000) { async { fabric.get<NodeInfo>(directed(0, 1)).nodeGUID } }.awaitAll()
                println("${answers.size} ${answers.distinct()}")
                val begin = TimeSource.Monotonic.markNow()
                try {
                    fabric.get<NodeInfo>(directed(0, 1, 3))
                } catch (e: MadTimeoutException) {
                    println(e.message)
                }
                // ibsim tells at once that no port gets the datagram.
                println(if (begin.elapsedNow() < PATIENCE) "at once" else "too late")
            }
        }
    }
}
