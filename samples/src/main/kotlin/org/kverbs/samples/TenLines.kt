package org.kverbs.samples

import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.RC
import org.kverbs.dsl.await
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.connect
import org.kverbs.dsl.endpoint
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.send

/**
 * Connects two queue pairs and sends a message from one to the other, on the device that the argument names or on the
 * first one.
 */
fun main(args: Array<String>): Unit =
    (if (args.isEmpty()) openDevice() else openDevice(args[0])).use { device ->
        val pd = device.protectionDomain()
        val cq = device.completionQueue { entries(16) }
        val (alice, bob) = List(2) { pd.qp(RC) { cq(cq) } }
        alice.connect(bob.endpoint())
        bob.connect(alice.endpoint())
        val region = pd.memoryRegion(128) { access(LOCAL_WRITE) }
        region.memory().setString(0, "Hello, RDMA")
        bob.postReceive(into = region[64, 64])
        alice.post { send(region[0, 64]) }
        println(
            "${cq.await().single().orThrow().byteLength()} bytes came on ${device.device().name()}: " +
                "${region.memory().getString(
                    64,
                )}",
        )
    }
