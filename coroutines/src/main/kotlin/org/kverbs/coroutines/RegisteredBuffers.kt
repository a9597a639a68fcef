@file:OptIn(UnsafeIoApi::class)

package org.kverbs.coroutines

import kotlinx.io.Buffer
import kotlinx.io.DelicateIoApi
import kotlinx.io.EOFException
import kotlinx.io.Sink
import kotlinx.io.Source
import kotlinx.io.UnsafeIoApi
import kotlinx.io.unsafe.UnsafeBufferOperations
import kotlinx.io.writeToInternalBuffer
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.nio.ByteBuffer

/**
 * Returns a ByteBuffer over the whole buffer, with position 0 and byte order big-endian. Do not use it after the buffer
 * is closed: this is not checked, and the memory can belong to another owner then.
 */
public fun RegisteredBuffer.asByteBuffer(): ByteBuffer = memory.asByteBuffer()

/**
 * Copies [bytes] into the buffer, from byte [offset] on.
 *
 * @throws IndexOutOfBoundsException if the bytes do not fit into the buffer; nothing is written then
 */
public fun RegisteredBuffer.write(
    bytes: ByteArray,
    offset: Long = 0,
) {
    range(offset, bytes.size.toLong()).copyFrom(MemorySegment.ofArray(bytes))
}

/** Copies [bytes] into the buffer, with the offset as `Int`. */
public fun RegisteredBuffer.write(
    bytes: ByteArray,
    offset: Int,
): Unit = write(bytes, offset.toLong())

/**
 * Moves [length] bytes from a kotlinx-io [Buffer] into this buffer, from byte [offset] on, without a copy in between.
 *
 * @throws EOFException if [from] has fewer bytes; nothing is moved then
 * @throws IndexOutOfBoundsException if the bytes do not fit into this buffer; nothing is moved then
 */
public fun RegisteredBuffer.write(
    from: Buffer,
    offset: Long = 0,
    length: Long = from.size,
) {
    val target = range(offset, length)
    if (from.size < length) throw EOFException("the kotlinx-io Buffer holds ${from.size} bytes, not $length")
    moveInto(target, 0, from, length)
}

/**
 * Reads [length] bytes from a [Source], which can block, into the buffer, from byte [offset] on.
 *
 * @throws EOFException if [from] ends before; the buffer contains the bytes read so far then
 * @throws IndexOutOfBoundsException if the bytes do not fit into the buffer; nothing is read then
 */
public fun RegisteredBuffer.write(
    from: Source,
    offset: Long = 0,
    length: Long,
) {
    val target = range(offset, length)
    val passing = Buffer()
    var done = 0L
    while (done < length) {
        val count = from.readAtMostTo(passing, length - done) // moves segments, copies no bytes
        if (count < 0) throw EOFException("the source ended after $done bytes of $length")
        moveInto(target, done, passing, count)
        done += count
    }
}

private fun moveInto(
    target: MemorySegment,
    offset: Long,
    from: Buffer,
    length: Long,
) {
    var done = 0L
    while (done < length) {
        done +=
            UnsafeBufferOperations.readFromHead(from) { bytes, start, end ->
                val count = minOf((end - start).toLong(), length - done).toInt()
                MemorySegment.copy(bytes, start, target, JAVA_BYTE, offset + done, count)
                count
            }
    }
}

/**
 * Appends [length] bytes of the buffer, from byte [offset] on, to [sink], without a copy in between. A sink that is not
 * a Buffer emits them as usual.
 *
 * @throws IndexOutOfBoundsException if the bytes are not within the buffer; nothing is written then
 */
@OptIn(DelicateIoApi::class)
public fun RegisteredBuffer.readTo(
    sink: Sink,
    offset: Long = 0,
    length: Long = memory.byteSize() - offset,
) {
    val source = range(offset, length)
    var done = 0L
    while (done < length) {
        sink.writeToInternalBuffer { buffer ->
            done +=
                UnsafeBufferOperations.writeToTail(buffer, 1) { bytes, start, end ->
                    val count = minOf((end - start).toLong(), length - done).toInt()
                    MemorySegment.copy(source, JAVA_BYTE, done, bytes, start, count)
                    count
                }
        }
    }
}

/**
 * Returns a copy of [length] bytes of the buffer, from byte [offset] on.
 *
 * @throws IndexOutOfBoundsException if the bytes are not within the buffer
 */
public fun RegisteredBuffer.readByteArray(
    offset: Long = 0,
    length: Long = memory.byteSize() - offset,
): ByteArray = range(offset, length).toArray(JAVA_BYTE)

private fun RegisteredBuffer.range(
    offset: Long,
    length: Long,
): MemorySegment {
    val memory = memory
    if (offset < 0 || length < 0 || length > memory.byteSize() - offset) {
        throw IndexOutOfBoundsException("$length bytes from byte $offset on reach beyond the $this")
    }
    return memory.asSlice(offset, length)
}
