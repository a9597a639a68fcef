package org.kverbs.coroutines

import org.kverbs.dsl.KiB
import java.util.concurrent.atomic.AtomicLong

/** The memory that all connections of a server have together, counted in whole KiB. Any thread. */
internal class ServerMemory(
    limit: Long,
) {
    private val free = Credits(kib(limit))
    private val taken = AtomicLong()

    /** Bytes that the connections hold. */
    val inUse: Long get() = taken.get() * 1.KiB

    /** What one connection holds of it, until the close. */
    inner class Share : AutoCloseable {
        private var held = 0
        private var isClosed = false

        /** Large messages that wait for more than there is are no reason for a no. */
        fun tryTake(bytes: Long): Boolean = free.take(kib(bytes)) && keep(kib(bytes))

        /** Suspends until there is room. */
        suspend fun take(bytes: Long) {
            free.acquire(kib(bytes))
            check(keep(kib(bytes))) { "the connection was closed" }
        }

        private fun keep(count: Int): Boolean {
            taken.addAndGet(count.toLong())
            synchronized(this) {
                if (!isClosed) {
                    held += count
                    return true
                }
            }
            release(count)
            return false
        }

        fun giveBack(bytes: Long) {
            synchronized(this) {
                if (isClosed) return
                held -= kib(bytes)
            }
            release(kib(bytes))
        }

        private fun release(count: Int) {
            taken.addAndGet(-count.toLong())
            free.release(count)
        }

        override fun close() {
            val rest =
                synchronized(this) {
                    isClosed = true
                    held.also { held = 0 }
                }
            if (rest > 0) release(rest)
        }
    }

    companion object {
        /** As many KiB as so many bytes take. */
        fun kib(bytes: Long): Int = Math.toIntExact((bytes + 1.KiB - 1) / 1.KiB)
    }
}
