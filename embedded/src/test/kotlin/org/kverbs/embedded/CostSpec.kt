package org.kverbs.embedded

import com.sun.management.ThreadMXBean
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.longs.shouldBeLessThan
import org.kverbs.Device
import org.kverbs.ReceiveRequests
import org.kverbs.SendRequests
import org.kverbs.WorkCompletions
import org.kverbs.attributes.QueuePairType
import java.lang.management.ManagementFactory
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private const val ROUNDS = 200
private val PATIENCE = 60.seconds

/** Half of the smallest object, in bytes. */
private const val LEAST = 8L
private const val MESSAGES = 4
private const val PACKETS = 64
private const val BYTES = PACKETS * 4096L
private const val IDLE_MILLIS = 2000L

/** Returns the devices of a process with these words, as [Configuration] explains them. */
private fun devices(words: String): List<Device> =
    Configuration.of(words).devices().map { Device.of(EmbeddedProvider(), it) }

/** Two ends on the two devices, and traffic between them that allocates no object. */
private class Traffic(
    words: String,
) : AutoCloseable {
    val a: End
    val b: End
    private val batch = WorkCompletions(64)
    private val receive: ReceiveRequests
    private val everything: SendRequests
    private val write: SendRequests

    init {
        val (first, second) = devices(words)
        a = End(first, QueuePairType.RC, BYTES)
        b = End(second, QueuePairType.RC, BYTES)
        a.qp.connect(b.qp.endpoint())
        b.qp.connect(a.qp.endpoint())
        receive = ReceiveRequests().receive(1).into(b.mr.slice(0, 64))
        val small = a.mr.slice(0, 64)
        val large = a.mr.slice(64, 9000)
        val all = a.mr.slice(0, BYTES)
        val remote = b.mr.remote()
        everything =
            SendRequests()
                .send(1)
                .from(small)
                .signaled()
                .write(2, remote)
                .from(large)
                .signaled()
                .read(3, remote)
                .into(large)
                .signaled()
                .fetchAndAdd(4, remote, 1)
                .into(a.mr.slice(0, 8))
                .signaled()
        write = SendRequests().write(5, remote).from(all).signaled()
    }

    private fun poll(
        end: End,
        count: Int,
    ) {
        var left = count
        while (left > 0) {
            val found = end.cq.poll(batch)
            for (i in 0 until found) batch.get(i).orThrow()
            left -= found
        }
    }

    /** Sends [MESSAGES] messages of each kind, and polls both ends. */
    fun exchange() {
        b.qp.postReceive(receive)
        a.qp.post(everything)
        poll(b, 1)
        poll(a, 4)
    }

    /** Sends a message of [PACKETS] packets, for which the receiving program does nothing. */
    fun write() {
        a.qp.post(write)
        poll(a, 1)
    }

    override fun close() {
        a.close()
        b.close()
    }
}

/** Checks the heap and the processor time that a device uses by itself. */
class CostSpec :
    FunSpec({
        val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean

        fun ofDevices() = Thread.getAllStackTraces().keys.filter { it.name.startsWith("kverbs-") }

        fun allocated(): Long {
            val ids = (ofDevices() + Thread.currentThread()).map { it.threadId() }.toLongArray()
            return threads.getThreadAllocatedBytes(ids).sum()
        }

        fun bytesOfOneTurn(round: () -> Unit): Long {
            // The query allocates, too: the same amount each time.
            val asking = allocated().let { first -> allocated() - first }
            val before = allocated()
            repeat(ROUNDS) { round() }
            return allocated() - before - asking
        }

        for ((where, words) in listOf("in process" to "memory,memory", "on UDP" to udpWords(2))) {
            test("should allocate nothing for a packet between devices $where, in any thread") {
                Traffic(words).use { traffic ->
                    val rounds =
                        listOf(
                            Triple("both ends poll", MESSAGES, traffic::exchange),
                            Triple("one end polls", PACKETS, traffic::write),
                        )
                    for ((what, pieces, round) in rounds) {
                        // The first rounds link and compile, which a busy machine delays. Threads that wait for each
                        // other allocate an object now and then, but not for each piece.
                        val most = LEAST * pieces * ROUNDS
                        var least = Long.MAX_VALUE
                        val start = TimeSource.Monotonic.markNow()
                        while (least >= most && start.elapsedNow() < PATIENCE) {
                            least = minOf(least, bytesOfOneTurn(round))
                        }
                        withClue("bytes of $ROUNDS rounds of $pieces pieces in which $what") {
                            least shouldBeLessThan
                                most
                        }
                    }
                }
            }
        }

        test(
            "should use no processor time while idle, on devices in process and on UDP that were used before",
        ) {
            val used = listOf("memory,memory", udpWords(2)).map(::Traffic)
            try {
                used.forEach { traffic -> repeat(ROUNDS) { traffic.exchange() } }
                val idle = ofDevices()
                idle.shouldNotBeEmpty()
                val before = idle.sumOf { threads.getThreadCpuTime(it.threadId()) }
                Thread.sleep(IDLE_MILLIS)
                val nanos = idle.sumOf { threads.getThreadCpuTime(it.threadId()) } - before
                withClue("CPU time of ${idle.map { it.name }}") { nanos shouldBeLessThan IDLE_MILLIS * 1_000_000 / 5 }
            } finally {
                used.forEach(Traffic::close)
            }
        }
    })
