package org.kverbs.management.rmpp

import org.kverbs.attributes.Gid
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath

private const val LOW_HALF = 0xffffffffL

/**
 * What tells one transfer from another: the class and the method of its data, the transaction, and the peer. A peer is
 * a port, and for its own transactions also its queue pair: programs of one port number theirs as they like. A
 * transaction of this program's own is one of its ids, whichever queue pair answers.
 *
 * Of a program's own transactions only the low half of the id counts, because a transport can write the high half.
 */
internal data class TransferKey(
    val mgmtClass: Int,
    val method: Int,
    val transaction: Long,
    val lid: Int,
    val gid: Gid?,
    val queuePair: Int,
) {
    companion object {
        /** The transfer whose data [mad] belongs to. */
        fun ofData(
            mad: ByteArray,
            path: MadPath,
            isSent: Boolean,
        ): TransferKey = of(mad, path, Rmpp.method(mad), isSent)

        /** The transfer of this side's data that [mad] acknowledges or ends. */
        fun ofAnswered(
            mad: ByteArray,
            path: MadPath,
        ): TransferKey = of(mad, path, Rmpp.method(mad) xor Rmpp.RESPONSE, true)

        private fun of(
            mad: ByteArray,
            path: MadPath,
            method: Int,
            isSent: Boolean,
        ): TransferKey {
            val isOwn = isSent != (method and Rmpp.RESPONSE != 0)
            val transaction = Rmpp.transaction(mad)
            val peer = path as? LidPath
            return TransferKey(
                Rmpp.mgmtClass(mad),
                method,
                if (isOwn) transaction and LOW_HALF else transaction,
                peer?.destination?.value ?: 0,
                peer?.globalRoute?.dgid(),
                if (isOwn) 0 else peer?.destinationQueuePair ?: 0,
            )
        }
    }
}
