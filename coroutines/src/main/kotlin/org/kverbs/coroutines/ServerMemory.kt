package org.kverbs.coroutines

import org.kverbs.dsl.KiB
import java.util.concurrent.atomic.AtomicLong

/** Limits the memory of all connections of a server together, counted in whole KiB. Any thread can call. */
internal class ServerMemory(
    limit: Long,
) {
    private val free = Credits(kib(limit))
    private val taken = AtomicLong()

    /** Bytes that the connections hold now. */
    val inUse: Long get() = taken.get() * 1.KiB

    /** The part that one connection holds until it is closed. */
    inner class Share : AutoCloseable {
        private var held = 0
        private var isClosed = false

        /** Takes memory if it is free, even if large messages wait for more than is free. */
        fun tryTake(bytes: Long): Boolean = free.take(kib(bytes)) && keep(kib(bytes))

        /** Takes memory; suspends until it is free. */
        suspend fun take(bytes: Long) {
            free.acquire(kib(bytes))
            check(keep(kib(bytes))) { "the connection was closed while it waited for memory of the server" }
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
        /** Returns bytes in KiB, rounded up. */
        fun kib(bytes: Long): Int = Math.toIntExact((bytes + 1.KiB - 1) / 1.KiB)
    }
}
