package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random

/** How far back an answer to an unknown id counts as late. */
private const val REMEMBERED = 1 shl 20

/** The requests that wait, by the low half of their transaction ids. An id is used again after 2^32 others. */
internal class TransactionTable {
    private val first = Random.nextInt()
    private val next = AtomicInteger(first)
    private val waiting = ConcurrentHashMap<Int, Transaction>()

    val size: Int get() = waiting.size

    /** Enters a copy of the request under an id that no other one has. */
    fun open(
        request: ByteArray,
        path: MadPath,
    ): Transaction {
        while (true) {
            val id = next.getAndIncrement()
            val mad = request.copyOf()
            MadFields.setTransaction(mad, id)
            val transaction = Transaction(id, mad, path)
            if (waiting.putIfAbsent(id, transaction) == null) return transaction
        }
    }

    fun find(id: Int): Transaction? = waiting[id]

    /** Forgets a request. Returns whether it was known. */
    fun close(transaction: Transaction): Boolean = waiting.remove(transaction.id, transaction)

    /** Whether the id was given to a request not long ago. */
    fun wasGiven(id: Int): Boolean {
        val last = next.get()
        val age = last - id
        val given = last - first
        return age in 1..REMEMBERED && (given !in 0..REMEMBERED || age <= given)
    }

    fun all(): List<Transaction> = waiting.values.toList()
}
