package org.kverbs.serialization

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.Arb
import io.kotest.property.arbitrary.arbitrary
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.choice
import io.kotest.property.arbitrary.enum
import io.kotest.property.arbitrary.filter
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.long
import io.kotest.property.arbitrary.orNull
import io.kotest.property.arbitrary.positiveInt
import io.kotest.property.arbitrary.positiveLong
import io.kotest.property.arbitrary.string
import io.kotest.property.checkAll
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

private val payloads = Arb.byteArray(Arb.int(0..100), Arb.byte())

/** Text that can be encoded, without a lone surrogate. */
private val texts =
    Arb.string(0..60).filter { it.encodeToByteArray().decodeToString() == it }

private val frames: Arb<Frame> =
    Arb.choice(
        arbitrary { Frame.Hello(Arb.positiveInt().bind()) },
        arbitrary {
            Frame.Request(
                Arb.long().bind(),
                texts.filter { it.encodeToByteArray().size in 1..MAX_NAME }.bind(),
                Arb.positiveLong().orNull().bind()?.nanoseconds ?: Duration.INFINITE,
                Arb.int(0..Int.MAX_VALUE).bind(),
                payloads.bind(),
            )
        },
        arbitrary { Frame.Cancel(Arb.long().bind()) },
        arbitrary { Frame.Credit(Arb.long().bind(), Arb.positiveInt().bind()) },
        arbitrary { Frame.Answer(Arb.long().bind(), payloads.bind()) },
        arbitrary { Frame.Item(Arb.long().bind(), payloads.bind()) },
        arbitrary { Frame.End(Arb.long().bind()) },
        arbitrary {
            Frame.Failure(
                Arb.long().bind(),
                Arb.enum<Frame.Failure.Kind>().bind(),
                texts.bind(),
                texts.filter { it.isNotEmpty() }.orNull().bind(),
            )
        },
    )

/** The fields of a frame in comparable form. */
private fun Frame.fields(): List<Any?> =
    when (this) {
        is Frame.Hello -> listOf("hello", maxInFlight)
        is Frame.Request -> listOf("request", id, method, timeout, credits, payload.toList())
        is Frame.Cancel -> listOf("cancel", id)
        is Frame.Credit -> listOf("credit", id, count)
        is Frame.Answer -> listOf("answer", id, payload.toList())
        is Frame.Item -> listOf("item", id, payload.toList())
        is Frame.End -> listOf("end", id)
        is Frame.Failure -> listOf("failure", id, kind, message, remoteClass)
    }

class FrameCodecSpec :
    FunSpec({
        test("should decode every frame to the encoded value") {
            checkAll(2000, frames) { frame -> decodeFrame(frame.encode()).fields() shouldBe frame.fields() }
        }

        test("should decode any bytes to a frame or throw a protocol exception") {
            checkAll(5000, payloads) { bytes -> frameOrNull(bytes) }
        }

        test("should decode a frame with any byte changed, or cut anywhere, or throw a protocol exception") {
            checkAll(300, frames) { frame ->
                val good = frame.encode()
                for (i in good.indices) {
                    frameOrNull(good.copyOf(i))
                    frameOrNull(good.clone().also { it[i] = (it[i] + 1).toByte() })
                }
            }
        }

        test("should say what is wrong with a message") {
            shouldThrow<RequestProtocolException> { decodeFrame(ByteArray(0)) }.message shouldContain "0 bytes: it ends"
            shouldThrow<RequestProtocolException> { decodeFrame(byteArrayOf(99)) }.message shouldContain "no kind"
            shouldThrow<RequestProtocolException> { decodeFrame(Frame.End(1).encode() + 0) }.message shouldContain
                "1 bytes too many"
            shouldThrow<RequestProtocolException> { decodeFrame("GET / HTTP/1.1".encodeToByteArray()) }
        }

        test("should cut the text of a failure") {
            val frame = decodeFrame(Frame.Failure(1, Frame.Failure.Kind.FAILED, "x".repeat(100_000)).encode())
            (frame as Frame.Failure).message shouldBe "x".repeat(MAX_FAILURE)
        }
    })

private fun frameOrNull(bytes: ByteArray): Frame? =
    try {
        decodeFrame(bytes)
    } catch (_: RequestProtocolException) {
        null
    }
