package org.kverbs.serialization

import java.nio.BufferUnderflowException
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException
import java.util.Locale
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

private const val HELLO = 0
private const val REQUEST = 1
private const val CANCEL = 2
private const val CREDIT = 3
private const val ANSWER = 4
private const val ITEM = 5
private const val END = 6
private const val FAILURE = 7

/** Identifies the protocol and its version in the hello. */
private const val MAGIC = 0x6b765201

/**
 * Encodes a frame: a byte for its kind, then its fields in order, big-endian; a field without a fixed length comes
 * last.
 */
internal fun Frame.encode(): ByteArray =
    when (this) {
        is Frame.Hello -> frame(HELLO, 8) { putInt(MAGIC).putInt(maxInFlight) }
        is Frame.Request -> encode()
        is Frame.Cancel -> frame(CANCEL, 8) { putLong(id) }
        is Frame.Credit -> frame(CREDIT, 12) { putLong(id).putInt(count) }
        is Frame.Answer -> frame(ANSWER, 8 + payload.size) { putLong(id).put(payload) }
        is Frame.Item -> frame(ITEM, 8 + payload.size) { putLong(id).put(payload) }
        is Frame.End -> frame(END, 8) { putLong(id) }
        is Frame.Failure -> encode()
    }

private fun Frame.Request.encode(): ByteArray {
    val name = method.encodeToByteArray()
    return frame(REQUEST, 21 + name.size + payload.size) {
        putLong(id).putLong(if (timeout.isInfinite()) 0 else timeout.inWholeNanoseconds.coerceAtLeast(1))
        putInt(credits).put(name.size.toByte()).put(name).put(payload)
    }
}

private fun Frame.Failure.encode(): ByteArray {
    val name = remoteClass.orEmpty().take(MAX_FAILURE).encodeToByteArray()
    val text = message.take(MAX_FAILURE).encodeToByteArray()
    return frame(FAILURE, 11 + name.size + text.size) {
        putLong(id).put(kind.ordinal.toByte()).putShort(name.size.toShort()).put(name).put(text)
    }
}

private inline fun frame(
    kind: Int,
    size: Int,
    fields: ByteBuffer.() -> Unit,
): ByteArray = ByteBuffer.allocate(1 + size).put(kind.toByte()).apply(fields).array()

/**
 * Decodes a frame of a peer that is not trusted.
 *
 * @throws RequestProtocolException if the message is not a frame
 */
internal fun decodeFrame(message: ByteArray): Frame =
    try {
        val fields = ByteBuffer.wrap(message)
        fields.frame().also { if (fields.hasRemaining()) broken("${fields.remaining()} bytes too many", message) }
    } catch (e: BufferUnderflowException) {
        broken("it ends too early", message, e)
    } catch (e: CharacterCodingException) {
        broken("a text is no UTF-8", message, e)
    } catch (e: IllegalArgumentException) {
        broken("${e.message}", message, e)
    }

private fun ByteBuffer.frame(): Frame =
    when (val kind = get().toInt()) {
        HELLO -> hello()
        REQUEST -> request()
        CANCEL -> Frame.Cancel(getLong())
        CREDIT -> Frame.Credit(getLong(), positive("credit"))
        ANSWER -> Frame.Answer(getLong(), rest())
        ITEM -> Frame.Item(getLong(), rest())
        END -> Frame.End(getLong())
        FAILURE -> failure()
        else -> throw IllegalArgumentException("$kind is no kind of frame")
    }

private fun ByteBuffer.hello(): Frame.Hello {
    val magic = getInt()
    require(magic == MAGIC) { "it begins another protocol or version (0x%08x)".format(Locale.ROOT, magic) }
    return Frame.Hello(positive("number of requests"))
}

private fun ByteBuffer.request(): Frame.Request {
    val id = getLong()
    val timeout = getLong()
    require(timeout >= 0) { "its timeout is $timeout ns" }
    val credits = getInt()
    require(credits >= 0) { "its credit is $credits" }
    val length = get().toUByte().toInt()
    require(length in 1..MAX_NAME) { "its method's name has $length bytes" }
    val method = text(length)
    return Frame.Request(id, method, if (timeout == 0L) Duration.INFINITE else timeout.nanoseconds, credits, rest())
}

private fun ByteBuffer.failure(): Frame.Failure {
    val id = getLong()
    val kind = get().toInt()
    require(kind in Frame.Failure.Kind.entries.indices) { "$kind is no kind of failure" }
    val remoteClass = text(getShort().toUShort().toInt()).ifEmpty { null }
    return Frame.Failure(id, Frame.Failure.Kind.entries[kind], text(remaining()), remoteClass)
}

private fun ByteBuffer.positive(what: String): Int = getInt().also { require(it > 0) { "its $what is $it" } }

private fun ByteBuffer.text(length: Int): String {
    if (length > remaining()) throw BufferUnderflowException()
    return ByteArray(length).also { get(it) }.decodeToString(throwOnInvalidSequence = true)
}

private fun ByteBuffer.rest(): ByteArray = ByteArray(remaining()).also { get(it) }

private fun broken(
    why: String,
    message: ByteArray,
    cause: Exception? = null,
): Nothing = throw RequestProtocolException("the peer sent no frame, but ${message.size} bytes: $why", cause)
