package org.kverbs.benchmarks

import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.SendRequests
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.benchmarks.bench.Handover
import org.kverbs.benchmarks.bench.Turns
import org.kverbs.coroutines.WaitStrategy
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.messageChannel
import org.kverbs.dsl.RC
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.qp

private const val KIB = 1024
private const val MIB = 1024 * KIB
private const val TURNS = 9

/** Large messages under way at once, and raw writes. */
private const val AT_ONCE = 4

/**
 * Before it is measured, each way moves so many messages, of [SHORT] bytes at most, and rests so often: the JIT
 * compiler begins its work after 10,000 calls or more, and two threads that poll leave it no processor of two.
 */
private const val WARM_UPS = 8
private const val WARM_UP_MESSAGES = 20_000L
private const val WARM_UP_OVER_UDP = 200L
private const val SHORT = 64 * KIB
private const val REST_MILLIS = 500L

/** Each measurement moves so many bytes: half a second or more, so that a pause of some milliseconds doesn't count. */
private const val BYTES_IN_PROCESS = 16_384L * MIB
private const val BYTES_OVER_UDP = 256L * MIB

/** The timeout code of one second: on a busy machine a thread can wait for a processor. */
private val PATIENT = ConnectOptions.builder().timeout(18).build()

/** Threads poll for a millisecond or more before they sleep, as the raw writes poll; the others sleep meanwhile. */
private val POLLING = WaitStrategy.adaptive(50_000)

/**
 * Measures megabytes (10^6 bytes) a second of large messages over a channel beside raw writes of the same size, by
 * turns. Arguments: the sending and the receiving device, default is `embedded0` for both; the sizes in KiB, default is
 * `64,256,1024`; the ways, default is all of them: `raw,buffers,arrays`. Prints a line for each size, way and turn: the
 * size in KiB, the way, the rate, and the nanoseconds of a [Handover] right before and behind it. Where a JVM runs one
 * way, no other way has threads in it, or a part in what the JIT compiler knows.
 */
fun main(arguments: Array<String>) {
    val from = Device.byName(arguments.getOrElse(0) { "embedded0" })
    val to = Device.byName(arguments.getOrElse(1) { "embedded0" })
    val sizes = arguments.getOrElse(2) { "64,256,1024" }.split(',').map { it.toInt() * KIB }
    val names = arguments.getOrElse(3) { "raw,buffers,arrays" }.split(',')
    // By name: each look-up of a device makes an object of its own.
    val bytes = if (from.name() == to.name()) BYTES_IN_PROCESS else BYTES_OVER_UDP
    for (size in sizes) {
        from.open().use { near -> to.open().use { far -> measure(names, near, far, size, bytes) } }
    }
}

private fun measure(
    names: List<String>,
    near: Context,
    far: Context,
    size: Int,
    bytes: Long,
) {
    val ways = names.map { way(it, near, far, size) }
    val warmUp = if (bytes == BYTES_IN_PROCESS) WARM_UP_MESSAGES else WARM_UP_OVER_UDP
    repeat(WARM_UPS) {
        ways.forEach { it.move(warmUp, minOf(size, SHORT)) }
        Thread.sleep(REST_MILLIS)
    }
    ways.forEach { rate(it, bytes / size / WARM_UPS, size) }
    var before = handover()
    repeat(TURNS) {
        for ((index, name) in names.withIndex()) {
            val rate = rate(ways[index], bytes / size, size)
            val behind = handover()
            println("%d %s %.0f %d %d".format(size / KIB, name, rate, before, behind))
            before = behind
        }
    }
}

private fun handover() = Handover.nanos({ Processors.take(0) }, { Processors.take(1) })

private fun way(
    name: String,
    near: Context,
    far: Context,
    size: Int,
): Way =
    when (name) {
        "raw" -> RawWrites(near, far, size)
        "buffers" -> Buffers(near, far, size)
        "arrays" -> ByteArrays(near, far, size)
        else -> throw IllegalArgumentException("no way $name; there are raw, buffers, arrays")
    }

private fun rate(
    way: Way,
    messages: Long,
    size: Int,
): Double {
    val began = System.nanoTime()
    way.move(messages, size)
    return messages * size * 1e3 / (System.nanoTime() - began)
}

/** A way to move messages of one size. */
private fun interface Way {
    /** Returns when the receiver has [messages] further messages of [length] bytes, at most the size of the way. */
    fun move(
        messages: Long,
        length: Int,
    )
}

/** RDMA writes between as many buffers, of one thread that posts and polls; nothing runs at the other end. */
private class RawWrites(
    near: Context,
    far: Context,
    private val size: Int,
) : Way {
    private val cq = near.completionQueue { entries(2 * AT_ONCE) }
    private val qp = near.protectionDomain().qp(RC) { cq(cq) }.queuePair
    private val batch = WorkCompletions(AT_ONCE)
    private val requests = List(AT_ONCE) { SendRequests() }
    private val turns = Turns()
    private val local: MemoryRegion
    private val remote: MemoryRegion

    init {
        val farPd = far.protectionDomain()
        val farCq = far.completionQueue { entries(1) }
        val farQp = farPd.qp(RC) { cq(farCq) }.queuePair
        qp.connect(farQp.endpoint(PATIENT), PATIENT)
        farQp.connect(qp.endpoint(PATIENT), PATIENT)
        val bytes = AT_ONCE * size.toLong()
        local = qp.protectionDomain().memoryRegion(bytes, AccessFlag.LOCAL_WRITE)
        remote = farPd.memoryRegion(bytes, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
    }

    private fun prepare(length: Long) {
        requests.forEachIndexed { index, request ->
            val at = index * size.toLong()
            request.clear()
            request.write(0, remote.remote().slice(at, length)).from(local.slice(at, length)).signaled()
        }
    }

    override fun move(
        messages: Long,
        length: Int,
    ) {
        Processors.take(1)
        prepare(length.toLong())
        var posted = 0L
        var done = 0L
        while (done < messages) {
            while (posted < messages && posted - done < AT_ONCE) {
                qp.post(requests[(posted++ % AT_ONCE).toInt()])
            }
            val count = cq.poll(batch)
            repeat(count) { batch[it].orThrow() }
            done += count
            if (count == 0) turns.pause() else turns.reset()
        }
    }
}

/** Two connected channels, each with a polling thread that also runs the coroutines of its side. */
private abstract class OverChannel(
    near: Context,
    far: Context,
    ahead: Long,
) : Way {
    protected val nearPd = near.protectionDomain()
    protected val farPd = far.protectionDomain()
    private val nearThread = near.completionDispatcher { strategy(POLLING) }
    private val farThread = far.completionDispatcher { strategy(POLLING) }
    protected val sender = nearThread.messageChannel(nearPd) { fetchAhead(ahead) }
    protected val receiver = farThread.messageChannel(farPd) { fetchAhead(ahead) }

    init {
        val nearEnd = sender.queuePair.endpoint(PATIENT)
        val farEnd = receiver.queuePair.endpoint(PATIENT)
        sender.connect(farEnd, receiver.hello, PATIENT)
        receiver.connect(nearEnd, sender.hello, PATIENT)
        runBlocking(farThread.coroutineDispatcher) {
            Processors.take(1)
            launch(nearThread.coroutineDispatcher) { Processors.take(0) }
        }
    }

    final override fun move(
        messages: Long,
        length: Int,
    ) = runBlocking(farThread.coroutineDispatcher) {
        launch(nearThread.coroutineDispatcher) { send(messages, length) }
        receive(messages)
    }

    abstract suspend fun send(
        messages: Long,
        length: Int,
    )

    abstract suspend fun receive(messages: Long)
}

/** Messages from pooled buffers into pooled buffers, which the receiver's device reads without a copy. */
private class Buffers(
    near: Context,
    far: Context,
    size: Int,
) : OverChannel(near, far, ahead = 0) {
    private val pool = nearPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
    private val sources = List(AT_ONCE) { checkNotNull(pool.tryTake(size)) }
    private val targetPool = farPd.bufferPool()
    private val targets = List(AT_ONCE) { checkNotNull(targetPool.tryTake(size)) }

    override suspend fun send(
        messages: Long,
        length: Int,
    ) = coroutineScope {
        for (source in sources) launch { repeat((messages / AT_ONCE).toInt()) { sender.send(source, length) } }
    }

    override suspend fun receive(messages: Long) =
        coroutineScope {
            for (target in targets) launch { repeat((messages / AT_ONCE).toInt()) { receiver.receive(target) } }
        }
}

/** Messages from a byte array into new ones. */
private class ByteArrays(
    near: Context,
    far: Context,
    size: Int,
) : OverChannel(near, far, ahead = AT_ONCE * MIB.toLong()) {
    private val messages = setOf(size, minOf(size, SHORT)).associateWith(::ByteArray)

    override suspend fun send(
        messages: Long,
        length: Int,
    ) {
        val message = this.messages.getValue(length)
        repeat(messages.toInt()) { sender.send(message) }
    }

    override suspend fun receive(messages: Long) = repeat(messages.toInt()) { receiver.receive() }
}
