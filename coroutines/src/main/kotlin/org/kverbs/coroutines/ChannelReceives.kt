package org.kverbs.coroutines

import org.kverbs.WorkCompletion

/**
 * Receives messages into the channel's own slots: one request for each slot, posted again as soon as its message has
 * been copied.
 */
internal class ChannelReceives(
    dispatcher: CompletionDispatcher,
    private val link: ChannelLink,
) : RequestSide(dispatcher, link.pair.polled, link.memory.receiveCount) {
    private val queuePair = link.pair.queuePair
    private val slots = Array(capacity, link.memory::receiveSlot)

    init {
        begin()
    }

    fun postAll(): Unit = repeat(capacity) { post(it) }

    private fun post(slot: Int) {
        VectorRegisters.clearUpperHalves()
        queuePair.postReceive(id(slot), slots[slot])
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        link.reception.take(completion, slots[request]) { if (link.takesMessages) post(request) }
    }

    override fun failWaits(cause: Throwable): Unit = link.fail(cause)
}
