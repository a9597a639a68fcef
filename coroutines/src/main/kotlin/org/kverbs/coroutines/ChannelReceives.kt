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
) : RequestSide(dispatcher, link.pair.polled, (memory.length() / link.settings.slotSize).toInt()) {
    private val queuePair = link.pair.queuePair
    private val failures = link.pair.failures
    private val slotSize = link.settings.slotSize
    private val slices = Array(capacity) { memory[it.toLong() * slotSize, slotSize.toLong()] }

    init {
        begin()
    }

    /** Where a slot's message stands. */
    fun at(slot: Int) = memory.memory().asSlice(slot.toLong() * slotSize, slotSize.toLong())

    fun postAll(): Unit = repeat(capacity) { post(it) }

    /** Lets the device have a slot. */
    fun post(slot: Int): Unit = queuePair.postReceive(id(slot), slices[slot])

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

    override fun failWaits(cause: Throwable): Unit = link.fail(cause)
}
