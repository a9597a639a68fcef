package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.dsl.get

/** The receive slots of a channel: one region, one request a slot, posted again as soon as its message is done with. */
internal class ChannelReceives(
    dispatcher: CompletionDispatcher,
    private val link: ChannelLink,
    private val memory: MemoryRegion,
) : CompletionTarget {
    private val queuePair = link.pair.queuePair
    private val polled = link.pair.polled
    private val failures = link.pair.failures
    private val slotSize = link.settings.slotSize
    private val targets = dispatcher.targets
    private val count = (memory.length() / slotSize).toInt()
    private val slices = Array(count) { memory[it.toLong() * slotSize, slotSize.toLong()] }
    private val key = targets.add(this)

    init {
        polled.add(this)
    }

    /** Where a slot's message stands. */
    fun at(slot: Int) = memory.memory().asSlice(slot.toLong() * slotSize, slotSize.toLong())

    fun postAll(): Unit = repeat(count) { post(it) }

    /** Lets the device have a slot. */
    fun post(slot: Int): Unit = queuePair.postReceive(key.toLong() shl 32 or slot.toLong(), slices[slot])

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        // What is thrown here would end the polling of the whole completion queue.
        try {
            if (!completion.isSuccess) {
                val failure = failures.of(completion, WorkCompletionOpcode.RECV.code())
                throw failure.cause as? WorkCompletionException ?: failure // what flushed it says more
            }
            if (completion.opcode() != WorkCompletionOpcode.RECV) {
                throw ChannelProtocolException("the peer made a ${completion.opcode()} where a message was expected")
            }
            link.arrivals.arrived(request, at(request), completion.byteLength())
        } catch (e: RuntimeException) {
            link.fail(e)
        }
    }

    override fun fail(cause: Throwable): Unit = link.fail(cause)

    /** The queue pair is gone. */
    fun end() {
        targets.remove(key)
        polled.remove(this)
        polled.giveBack(count)
    }
}
