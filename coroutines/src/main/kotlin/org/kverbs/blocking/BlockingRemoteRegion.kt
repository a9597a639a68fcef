package org.kverbs.blocking

import org.kverbs.coroutines.RemoteRegion
import org.kverbs.coroutines.blocking

/**
 * Memory of the peer, to read and write without the peer's program: a [RemoteRegion] for Java. Offsets and lengths are
 * bytes; numbers are in the byte order of this machine, which must be the peer's too if it looks at them.
 *
 * Each call returns when it is done. An operation that was posted goes on after an interrupt.
 *
 * **Errors.** IndexOutOfBoundsException before anything is sent; [org.kverbs.WorkCompletionException] if the peer's
 * device refuses, for example since the peer has not allowed it: that ends the connection.
 *
 * Any thread. Nothing here needs a close.
 */
public class BlockingRemoteRegion internal constructor(
    private val region: RemoteRegion,
) {
    /** Bytes. */
    public fun length(): Long = region.length

    /** Reads [length] bytes from byte [offset] on. Above 1 MiB it goes in pieces, which others' may come between. */
    @Throws(InterruptedException::class)
    public fun read(
        offset: Long,
        length: Int,
    ): ByteArray = blocking { region.read(offset, length) }

    /** Writes all [bytes], from byte [offset] on. Above 1 MiB it goes in pieces, which others' may come between. */
    @Throws(InterruptedException::class)
    public fun write(
        bytes: ByteArray,
        offset: Long,
    ): Unit = blocking { region.write(bytes, offset) }

    /** Reads 8 bytes as a number. */
    @Throws(InterruptedException::class)
    public fun readLong(offset: Long): Long = blocking { region.readLong(offset) }

    /** Writes a number as 8 bytes. */
    @Throws(InterruptedException::class)
    public fun writeLong(
        offset: Long,
        value: Long,
    ): Unit = blocking { region.writeLong(offset, value) }

    /**
     * Adds [add] to the 8 bytes there, at once for all who use atomics of that device.
     *
     * @param offset to an address over there that is a multiple of 8
     * @return what stood there before
     */
    @Throws(InterruptedException::class)
    public fun fetchAndAdd(
        offset: Long,
        add: Long,
    ): Long = blocking { region.fetchAndAdd(offset, add) }

    /** If the 8 bytes there equal [expected] they become [value]; otherwise as [fetchAndAdd]. */
    @Throws(InterruptedException::class)
    public fun compareAndSwap(
        offset: Long,
        expected: Long,
        value: Long,
    ): Long = blocking { region.compareAndSwap(offset, expected, value) }

    /** Says the address, the key and the length in bytes. */
    override fun toString(): String = region.toString()
}
