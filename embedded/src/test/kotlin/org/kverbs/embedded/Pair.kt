package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.util.concurrent.TimeUnit
import java.util.function.Consumer
import kotlin.random.Random

private val LARGE = QueuePairCapabilities(256, 256, 4, 4, 64)

/** One end of a connection: a device, a queue pair, and memory with all access for the peer. */
internal class End(
    device: Device,
    type: QueuePairType,
    bytes: Long,
    capabilities: QueuePairCapabilities = LARGE,
    entries: Int = 1024,
    features: Set<Feature> = emptySet(),
) : AutoCloseable {
    val context: Context = device.open()
    val pd: ProtectionDomain = context.protectionDomain()
    val cq: CompletionQueue = context.completionQueue(entries)
    val mr: MemoryRegion =
        pd.memoryRegion(
            bytes,
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.FLUSH_GLOBAL,
        )
    val qp: QueuePair =
        QueuePairInitAttributes.of(type, cq).with(capabilities).let {
            pd.queuePair(if (features.isEmpty()) it else it.asExtended(*features.toTypedArray()))
        }

    fun post(requests: SendRequests.() -> Unit) = qp.postWith(Consumer { it.requests() })

    /** Polls until there are [count] completions; on a virtual clock each empty poll lets the next event happen. */
    fun take(count: Int): List<WorkCompletion> {
        val batch = WorkCompletions(64)
        val found = mutableListOf<WorkCompletion>()
        var empty = 0
        while (found.size < count && empty < 100_000) {
            val polled = cq.poll(batch)
            repeat(polled) { found += batch.get(it).copy() }
            empty = if (polled == 0) empty + 1 else 0
        }
        withClue("completions of queue pair ${qp.number()}: $found") { found.size shouldBe count }
        return found
    }

    /** Polls by the real clock until there are [count] completions, for a minute at most. */
    fun await(count: Int): List<WorkCompletion> {
        val batch = WorkCompletions(count)
        val found = mutableListOf<WorkCompletion>()
        val end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1)
        while (found.size < count && System.nanoTime() < end) {
            repeat(cq.poll(batch)) { found += batch.get(it).copy() }
        }
        withClue("completions of queue pair ${qp.number()}: $found") { found.size shouldBe count }
        return found
    }

    /** Polls once, and takes no more than [most]. */
    fun poll(most: Int): List<WorkCompletion> {
        val batch = WorkCompletions(most)
        return List(cq.poll(batch)) { batch.get(it).copy() }
    }

    fun fill(seed: Int) {
        val bytes = Random(seed).nextBytes(mr.length().toInt())
        MemorySegment.copy(bytes, 0, mr.memory(), ValueLayout.JAVA_BYTE, 0, bytes.size)
    }

    fun bytes(
        offset: Long = 0,
        size: Long = mr.length(),
    ): ByteArray = mr.memory().asSlice(offset, size).toArray(ValueLayout.JAVA_BYTE)

    override fun close() = context.close()
}

/** Two ends on two devices of a fabric, connected. */
internal class Pair(
    val fabric: EmbeddedFabric,
    type: QueuePairType = QueuePairType.RC,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    bytes: Long = 1 shl 16,
    semantics: Semantics = Semantics.STRICT,
    capabilities: QueuePairCapabilities = LARGE,
    entries: Int = 1024,
    features: Set<Feature> = emptySet(),
) : AutoCloseable {
    val client: Device = fabric.addDevice(semantics)
    val server: Device = fabric.addDevice(semantics)
    val a = End(client, type, bytes, capabilities, entries, features)
    val b = End(server, type, bytes, capabilities, entries, features)

    init {
        a.qp.connect(b.qp.endpoint(options), options)
        b.qp.connect(a.qp.endpoint(options), options)
    }

    operator fun component1(): End = a

    operator fun component2(): End = b

    override fun close() {
        a.close()
        b.close()
        fabric.close()
    }
}
