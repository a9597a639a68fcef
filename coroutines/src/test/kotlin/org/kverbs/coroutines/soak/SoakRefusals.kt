package org.kverbs.coroutines.soak

import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.write
import org.kverbs.dsl.RC
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno
import org.kverbs.embedded.Failure
import org.kverbs.embedded.Operation
import java.util.concurrent.atomic.AtomicLong
import kotlin.random.Random

/** Makes devices, dispatchers and queue pairs while calls are refused and requests fail, and closes all of it. */
internal class SoakRefusals {
    private val random = Random(System.nanoTime())

    /** Number of failures that were seen. */
    val seen = AtomicLong()

    suspend fun round() {
        EmbeddedFabric.realTime(random.nextLong()).use { fabric ->
            val device = fabric.addDevice()
            repeat(ATTEMPTS) {
                val failure =
                    if (random.nextBoolean()) {
                        Failure.of(CALLS.random(random), Errno.ENOMEM).nth(random.nextInt(1, 4))
                    } else {
                        Failure.of(WorkCompletionOpcode.RDMA_WRITE, WorkCompletionStatus.LOC_PROT_ERR)
                    }
                fabric.inject(failure).use { attempt(device.open()) }
            }
        }
    }

    private suspend fun attempt(context: org.kverbs.Context) {
        try {
            context.use {
                val dispatcher = it.completionDispatcher()
                val pd = it.protectionDomain()
                val memory = pd.memoryRegion(SIZE) { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE) }
                val one = dispatcher.qp(pd, RC)
                val other = dispatcher.qp(pd, RC)
                one.connect(other.endpoint())
                other.connect(one.endpoint())
                coroutineScope {
                    repeat(WRITES) { launch { one.write(memory[0, HALF], to = memory.remote().slice(HALF, HALF)) } }
                }
            }
        } catch (_: RdmaException) {
            seen.incrementAndGet()
        }
    }

    private companion object {
        const val ATTEMPTS = 20
        const val WRITES = 8
        const val SIZE = 4096L
        const val HALF = 2048L
        val CALLS =
            listOf(
                Operation.REGISTER_MEMORY,
                Operation.CREATE_QUEUE_PAIR,
                Operation.MODIFY_QUEUE_PAIR,
                Operation.CREATE_COMPLETION_QUEUE,
                Operation.CREATE_COMPLETION_CHANNEL,
                Operation.ALLOCATE_PROTECTION_DOMAIN,
            )
    }
}
