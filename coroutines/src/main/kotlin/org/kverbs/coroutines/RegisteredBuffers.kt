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
 * All of the buffer as a ByteBuffer over the same memory, position 0, byte order big-endian, which is the network's.
 * Don't use it after the buffer's close: it isn't checked, and the memory may be another's.
 */
public fun RegisteredBuffer.asByteBuffer(): ByteBuffer = memory.asByteBuffer()

/**
 * Copies all [bytes] into the buffer from byte [offset] on.
 *
 * @throws IndexOutOfBoundsException if they reach beyond the buffer; nothing is written then
 */
public fun RegisteredBuffer.write(
    bytes: ByteArray,
    offset: Long = 0,
) {
    range(offset, bytes.size.toLong()).copyFrom(MemorySegment.ofArray(bytes))
}

/**
 * Moves [length] bytes out of [from] into the buffer from byte [offset] on, straight from its segments.
 *
 * @throws EOFException if [from] holds less; nothing is moved then
 * @throws IndexOutOfBoundsException if they reach beyond the buffer; nothing is moved then
 */
public fun RegisteredBuffer.write(
    from: Buffer,
    offset: Long = 0,
    length: Long = from.size,
) {
    val target = range(offset, length)
    if (from.size < length) throw EOFException("the kotlinx-io Buffer holds ${from.size} bytes and not $length")
    moveInto(target, 0, from, length)
}

/**
 * Reads [length] bytes from [from], which may block, into the buffer from byte [offset] on.
 *
 * @throws EOFException if [from] ends before; what it gave stands in the buffer then
 * @throws IndexOutOfBoundsException if they reach beyond the buffer; nothing is read then
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
        val count = from.readAtMostTo(passing, length - done) // moves whole segments, no bytes
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
 * Copies [length] bytes from byte [offset] on to the end of [sink], straight into its segments; a sink that isn't a
 * Buffer passes them on as it does with all it is given.
 *
 * @throws IndexOutOfBoundsException if they reach beyond the buffer; nothing is written then
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
 * A copy of [length] bytes from byte [offset] on.
 *
 * @throws IndexOutOfBoundsException if they reach beyond the buffer
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
