@file:JvmName("LifetimeProgram")

package org.kverbs.acceptance.lab

import org.kverbs.Device
import org.kverbs.QueuePairInitAttributes
import org.kverbs.acceptance.contract.Bench
import org.kverbs.acceptance.contract.FULL_ACCESS
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.bytes
import org.kverbs.acceptance.contract.devicesUnderTest
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.PortSpace
import java.io.File
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.net.InetSocketAddress
import kotlin.time.TimeSource

/**
 * How often [LifetimeProgram][main] opens and closes a resource before it measures the memory, and how often it
 * measures.
 */
internal const val STEP = 1_000
internal const val STEPS = 5

/**
 * Opens and closes each resource on Soft-RoCE [STEP] times [STEPS]. Prints a line for each: its name in [Opened], open
 * descriptors before and after, milliseconds, and the process's resident bytes (VmRSS) after each step. Run by
 * [LifetimeSpec].
 */
internal fun main() {
    Bench(devicesUnderTest.single { it.name == "rxe0" }).use { bench ->
        val bodies = Opened.entries.associateWith { it.prepare(bench) }
        // Without this the first steps would show the JVM linking and compiling. The memory that the control leaks here
        // stays leaked.
        bodies.values.forEach { body -> repeat(STEP) { body() } }
        bodies.forEach { (resource, body) ->
            val descriptors = openDescriptors()
            val start = TimeSource.Monotonic.markNow()
            val resident =
                List(STEPS) {
                    repeat(STEP) { body() }
                    residentBytes()
                }
            val milliseconds = start.elapsedNow().inWholeMilliseconds
            println((listOf(resource, descriptors, openDescriptors(), milliseconds) + resident).joinToString(" "))
        }
    }
}

/** The resources that are opened and closed. */
internal enum class Opened(
    val what: String,
    val prepare: (Bench) -> () -> Unit,
) {
    CONTEXTS("contexts", { bench -> { Device.byName(bench.device.name).open().close() } }),
    DOMAINS("protection domains", { bench -> { bench.context.protectionDomain().close() } }),
    REGIONS("memory regions of their own memory", { bench -> { bench.memory(4096).close() } }),
    GIVEN_REGIONS("memory regions of given memory", { bench ->
        val memory = Arena.global().allocate(4096, 4096);
        { bench.pd.register(memory, *FULL_ACCESS).close() }
    }),
    CHANNELS("completion channels", { bench -> { bench.context.completionChannel().close() } }),
    QUEUES("completion queues", { bench -> { bench.cq(16).close() } }),
    ANNOUNCING_QUEUES("completion queues on a channel", { bench ->
        val channel = bench.context.completionChannel();
        { bench.cq(16, channel).close() }
    }),
    RC_PAIRS("queue pairs of type RC", { bench -> pairs(bench, QueuePairType.RC) }),
    UC_PAIRS("queue pairs of type UC", { bench -> pairs(bench, QueuePairType.UC) }),
    UD_PAIRS("queue pairs of type UD", { bench -> pairs(bench, QueuePairType.UD) }),
    SHARED_QUEUES("shared receive queues", { bench ->
        { bench.pd.sharedReceiveQueue(SharedReceiveQueueAttributes(16, 1, 0)).close() }
    }),
    ADDRESSES("address handles", { bench ->
        val index = bench.context.defaultGidIndex(PORT)
        val route = GlobalRoute(bench.context.queryGid(PORT, index), 0, index, GlobalRoute.DEFAULT_HOP_LIMIT, 0)
        val address = AddressAttributes.builder().port(PORT).globalRoute(route).build();
        { bench.pd.addressHandle(address).close() }
    }),
    WINDOWS("memory windows", { bench -> { bench.pd.memoryWindow(MemoryWindowType.TYPE_2).close() } }),

    CONNECTION_CHANNELS("connection event channels", { { ConnectionEventChannel.open("native").close() } }),
    CONNECTION_IDS("connection ids that are bound", {
        val channel = ConnectionEventChannel.open("native")
        val local = InetSocketAddress("10.99.0.1", 0);
        { channel.id(PortSpace.TCP).use { it.bind(local) } }
    }),

    /** The control: leaks two kilobytes each time. */
    LOST_MEMORY("two kilobytes", { { Arena.global().allocate(2048).fill(1) } }),

    /** Another control: leaks a descriptor every 100th time. */
    LOST_DESCRIPTORS("descriptors", {
        var count = 0
        val kept = mutableListOf<AutoCloseable>();
        { if (count++ % 100 == 0) kept += File("/proc/self/status").inputStream() }
    }),
}

private fun pairs(
    bench: Bench,
    type: QueuePairType,
): () -> Unit {
    val cq = bench.cq()
    return { bench.pd.queuePair(QueuePairInitAttributes.of(type, cq)).close() }
}

private fun openDescriptors() = File("/proc/self/fd").list()!!.size

/** `man 3 malloc_trim`: gives free memory back to the system; the rest of the resident memory is in use. */
private val mallocTrim =
    Linker.nativeLinker().run {
        downcallHandle(defaultLookup().findOrThrow("malloc_trim"), FunctionDescriptor.of(JAVA_INT, JAVA_LONG))
    }

/** Returns the process's resident memory after the garbage collector and the cleaner of native memory have run. */
private fun residentBytes(): Long {
    System.gc()
    Thread.sleep(50)
    mallocTrim.invokeWithArguments(0L)
    val line = File("/proc/self/status").readLines().single { it.startsWith("VmRSS:") }
    return line.filter { it.isDigit() }.toLong() * 1024
}
