package org.kverbs.management.simulation

import java.lang.invoke.MethodHandles
import java.nio.ByteOrder.BIG_ENDIAN

private val SHORTS = MethodHandles.byteArrayViewVarHandle(ShortArray::class.java, BIG_ENDIAN)
private val INTS = MethodHandles.byteArrayViewVarHandle(IntArray::class.java, BIG_ENDIAN)
private val LONGS = MethodHandles.byteArrayViewVarHandle(LongArray::class.java, BIG_ENDIAN)

/** Numbers in datagrams and tables, straight from the bytes: the simulator reads some of them for each hop. */
internal object Wire {
    fun u8(
        bytes: ByteArray,
        at: Int,
    ): Int = bytes[at].toInt() and 0xff

    fun u16(
        bytes: ByteArray,
        at: Int,
    ): Int = (SHORTS.get(bytes, at) as Short).toInt() and 0xffff

    fun u32(
        bytes: ByteArray,
        at: Int,
    ): Int = INTS.get(bytes, at) as Int

    fun u64(
        bytes: ByteArray,
        at: Int,
    ): Long = LONGS.get(bytes, at) as Long

    fun put8(
        bytes: ByteArray,
        at: Int,
        value: Int,
    ) {
        bytes[at] = value.toByte()
    }

    fun put16(
        bytes: ByteArray,
        at: Int,
        value: Int,
    ) {
        SHORTS.set(bytes, at, value.toShort())
    }

    fun put32(
        bytes: ByteArray,
        at: Int,
        value: Int,
    ) {
        INTS.set(bytes, at, value)
    }

    fun put64(
        bytes: ByteArray,
        at: Int,
        value: Long,
    ) {
        LONGS.set(bytes, at, value)
    }
}
