package org.kverbs.management.rmpp

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.RMPPStatus

/** How many complete messages a receiver remembers. */
private const val REMEMBERED = 1024

/**
 * The messages on their way in, with the bounds that hold for all of them together.
 *
 * Answers to this program's requests have all the room. Requests of others have half of it, so that they leave room
 * for the answers.
 */
internal class IncomingTransfers(
    private val settings: RmppSettings,
) {
    private val transfers = HashMap<TransferKey, IncomingTransfer>()
    private val complete = LinkedHashMap<TransferKey, Complete>()
    private var kept = 0L

    /** A message that has arrived. Its sender can have missed that, and send its end again. */
    class Complete(
        val segment: Long,
        val windowLast: Long,
    ) {
        var age = 0

        /** The window for the answer that the peer granted. */
        var answerWindow = 1L
    }

    val size: Int get() = transfers.size

    val isEmpty: Boolean get() = transfers.isEmpty() && complete.isEmpty()

    fun find(key: TransferKey): IncomingTransfer? = transfers[key]

    fun findComplete(key: TransferKey): Complete? = complete[key]

    /**
     * Returns the window for the answer to a long request. The request is forgotten: if it comes again, its sender has
     * missed the answer.
     */
    fun answered(key: TransferKey): Long = complete.remove(key)?.answerWindow ?: 1

    /** Begins a transfer, or returns null if there is no room for one more. */
    fun begin(
        key: TransferKey,
        first: ByteArray,
        back: MadPath,
    ): IncomingTransfer? {
        val isAnswer = key.method and Rmpp.RESPONSE != 0
        val number = transfers.keys.count { (it.method and Rmpp.RESPONSE != 0) == isAnswer }
        if (number >= settings.maxTransfers || !hasRoom(key)) return null
        return IncomingTransfer(first, back, settings).also {
            transfers[key] = it
            kept += it.kept
        }
    }

    /** Lets a transfer take a packet, and counts what it keeps. */
    fun take(
        key: TransferKey,
        transfer: IncomingTransfer,
        mad: ByteArray,
    ): IncomingTransfer.Verdict {
        kept -= transfer.kept
        val verdict = transfer.take(mad)
        kept += transfer.kept
        return if (hasRoom(key)) verdict else IncomingTransfer.Verdict.Refuse(RMPPStatus.RESOURCES_EXHAUSTED)
    }

    private fun hasRoom(key: TransferKey): Boolean {
        val isAnswer = key.method and Rmpp.RESPONSE != 0
        return kept <= if (isAnswer) settings.maxReceived else settings.maxReceived / 2
    }

    fun remove(key: TransferKey): IncomingTransfer? = transfers.remove(key)?.also { kept -= it.kept }

    fun complete(
        key: TransferKey,
        transfer: IncomingTransfer,
    ) {
        remove(key)
        complete[key] = Complete(transfer.segment, transfer.windowLast)
        if (complete.size > REMEMBERED) complete.remove(complete.keys.first())
    }

    /** Forgets the answers to a transaction of this program. */
    fun forgetAnswers(transaction: Long) {
        if (transfers.isEmpty()) return
        transfers.keys
            .filter { it.method and Rmpp.RESPONSE != 0 && it.transaction == transaction }
            .forEach(::remove)
    }

    /** The clock ticks. Returns the transfers that have had their time, which are removed. */
    fun tick(): List<IncomingTransfer> {
        complete.values.removeIf { ++it.age > settings.retries + 1 }
        transfers.values.forEach { it.tick() }
        val over =
            transfers.filterValues { settings.timeout * it.idle.toDouble() >= settings.idle || isTooOld(it) }.keys
        return over.toList().mapNotNull(::remove)
    }

    private fun isTooOld(transfer: IncomingTransfer) = settings.timeout * transfer.age.toDouble() >= settings.total

    fun clear() {
        transfers.clear()
        complete.clear()
        kept = 0
    }
}
