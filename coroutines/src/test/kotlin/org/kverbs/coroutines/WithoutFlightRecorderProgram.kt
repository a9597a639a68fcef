@file:JvmName("WithoutFlightRecorderProgram")

package org.kverbs.coroutines

import kotlinx.coroutines.runBlocking
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.dsl.get

/** Makes what would be events of Flight Recorder, in a JVM without it: see [FlightRecorderSpec]. */
internal fun main() {
    check(ModuleLayer.boot().findModule("jdk.jfr").isEmpty) { "this JVM has Flight Recorder" }
    runBlocking {
        bound { server, host, address ->
            server.serve(this, ECHO)
            host.connectMessages(address).use {
                println(it.ask("connected"))
                it.disconnect()
            }
        }
        TwoEnds().use { ends ->
            val good = ends.server.region.remote()
            try {
                ends.client.qp.write(
                    ends.client.region[0, 64],
                    to = RemoteMemory(good.address(), 64, good.rkey() xor 0x5500),
                )
            } catch (e: WorkCompletionException) {
                println(e.status())
            }
        }
    }
}
