package org.kverbs.acceptance.contract

import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkQueue
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.RxHashField
import org.kverbs.dsl.destination
import org.kverbs.dsl.ethernet
import org.kverbs.dsl.flow
import org.kverbs.dsl.indirectionTable
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.workQueue

/** Makes a work queue that is ready. */
internal fun Bench.readyQueue(
    cq: CompletionQueue,
    maxWr: Int,
) = pd.workQueue {
    cq(cq)
    maxWr(maxWr)
    ready()
}

/** Makes a raw packet queue pair that sends. */
internal fun Bench.sender() = end(RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) }

/** Sends a frame, and waits until it was sent. */
internal fun End.transmit(frame: ByteArray) {
    mr.put(frame, 8_192)
    post { send(77).from(mr.slice(8_192, frame.size.toLong())).signaled() }
    cq.takeOne().shouldBeDone(77, SEND, qp)
}

/** A queue pair with a table, a rule for [ADDRESS], receives in each work queue, and a sender. */
internal class SpreadingRig(
    bench: Bench,
    size: Int,
    vararg fields: RxHashField,
    key: ByteArray? = null,
    val queues: List<WorkQueue> =
        if (size > 8) shared(bench, size) else List(size) { bench.readyQueue(bench.cq(), 16) },
    post: Boolean = true,
) : AutoCloseable {
    val depth = if (size > 8) 1 else 16
    private val slot = 512L
    val mr: MemoryRegion = bench.memory(slot * depth * size.coerceAtLeast(64))
    val table = bench.context.indirectionTable(queues)
    val qp: QueuePair =
        bench.pd.qp {
            type(RAW_PACKET)
            rxHash(table) {
                fields(*fields)
                key?.let { key(it) }
            }
        }
    private val sender = bench.sender()

    init {
        qp.flow { ethernet { destination(ADDRESS) } }
        if (post) {
            queues.forEach { queue ->
                repeat(depth) { queue.postReceive(mr.slice(slot * it, slot), id = it.toLong()) }
            }
        }
    }

    fun transmit(frame: ByteArray) = sender.transmit(frame)

    fun received(
        id: Int,
        bytes: Int,
    ): ByteArray = mr.bytes(bytes, slot * id)

    /** Takes all completions that there are. */
    fun completions(): List<WorkCompletion> {
        val found = mutableListOf<WorkCompletion>()
        await("a completion") {
            queues.map { it.cq() }.distinct().forEach { cq -> cq.poll({ found += it.copy() }, 64) }
            found.isNotEmpty()
        }
        return found
    }

    /** Posts the receive of a completion again, with the id that follows those of its queue. */
    fun postAgain(done: WorkCompletion) {
        val id = done.workRequestId() + depth
        queues.first { it.number() == done.queuePairNumber() }.postReceive(mr.slice(id % depth * slot, slot), id = id)
    }

    /** Sends a frame, and returns the index of the work queue that it came to. */
    fun entryOf(frame: ByteArray): Int {
        transmit(frame)
        val number = completions().single().queuePairNumber()
        val index = queues.indexOfFirst { it.number() == number }
        queues[index].postReceive(mr.slice(0, slot), id = 0)
        return index
    }

    override fun close() {
        sender.qp.close()
        queues.forEach { it.close() }
    }

    companion object {
        /** The Ethernet address of the rule. */
        const val ADDRESS = "02:00:00:00:00:01"

        /** Many work queues that complete into one completion queue. */
        private fun shared(
            bench: Bench,
            size: Int,
        ): List<WorkQueue> = bench.cq(512).let { cq -> List(size) { bench.readyQueue(cq, 2) } }
    }
}
