package org.kverbs.blocking

import org.kverbs.coroutines.RemoteRegion
import org.kverbs.coroutines.blocking

/**
 * Reads and writes memory of the peer; the peer's program is not told. It is a [RemoteRegion] for Java. Offsets and
 * lengths are in bytes. Numbers have the byte order of this machine; if the peer reads them, it must use the same
 * order.
 *
 * Each call returns when its operation is done. A posted operation goes on after an interrupt.
 *
 * **Errors.** Bytes outside the region throw IndexOutOfBoundsException; nothing is sent then. If the peer's device
 * refuses an operation, for example because the peer has not allowed it, the call throws
 * [org.kverbs.WorkCompletionException], and the connection ends.
 *
 * **Threads.** Any thread can call. A BlockingRemoteRegion needs no close.
 */
public class BlockingRemoteRegion internal constructor(
    private val region: RemoteRegion,
) {
    /** Returns the length of the region in bytes. */
    public fun length(): Long = region.length

    /**
     * Reads [length] bytes, from byte [offset] of the region on. Above 1 MiB it reads in pieces; operations of other
     * peers can come between them.
     */
    @Throws(InterruptedException::class)
    public fun read(
        offset: Long,
        length: Int,
    ): ByteArray = blocking { region.read(offset, length) }

    /**
     * Writes [bytes], from byte [offset] of the region on. Above 1 MiB it writes in pieces; operations of other peers
     * can come between them.
     */
    @Throws(InterruptedException::class)
    public fun write(
        bytes: ByteArray,
        offset: Long,
    ): Unit = blocking { region.write(bytes, offset) }

    /** Reads the 8 bytes at [offset] as a number. */
    @Throws(InterruptedException::class)
    public fun readLong(offset: Long): Long = blocking { region.readLong(offset) }

    /** Writes a number as the 8 bytes at [offset]. */
    @Throws(InterruptedException::class)
    public fun writeLong(
        offset: Long,
        value: Long,
    ): Unit = blocking { region.writeLong(offset, value) }

    /**
     * Adds [add] to the 8 bytes at [offset]. This is atomic for all atomics of the peer's device.
     *
     * @param offset gives an address of the peer that is a multiple of 8
     * @return the value before
     * @throws IllegalArgumentException if the address is not a multiple of 8
     */
    @Throws(InterruptedException::class)
    public fun fetchAndAdd(
        offset: Long,
        add: Long,
    ): Long = blocking { region.fetchAndAdd(offset, add) }

    /** Replaces the 8 bytes at [offset] by [swap] if they equal [compare]; otherwise as [fetchAndAdd]. */
    @Throws(InterruptedException::class)
    public fun compareAndSwap(
        offset: Long,
        compare: Long,
        swap: Long,
    ): Long = blocking { region.compareAndSwap(offset, compare, swap) }

    /** Shows the address, the key and the length in bytes. */
    override fun toString(): String = region.toString()
}
