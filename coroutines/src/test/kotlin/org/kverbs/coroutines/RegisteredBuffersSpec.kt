package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.io.Buffer
import kotlinx.io.EOFException
import kotlinx.io.RawSource
import kotlinx.io.buffered
import kotlinx.io.readByteArray
import kotlinx.io.writeString
import org.kverbs.dsl.openDevice
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.nio.ByteOrder
import kotlin.random.Random

class RegisteredBuffersSpec :
    FunSpec({
        fun onBuffer(
            size: Long,
            block: (RegisteredBuffer) -> Unit,
        ) = openDevice("embedded0").use { device ->
            device.protectionDomain().bufferPool().use { pool -> pool.tryTake(size).shouldNotBeNull().use(block) }
        }

        test("should be a big-endian ByteBuffer over the same memory") {
            onBuffer(100) {
                val view = it.asByteBuffer()
                view.isDirect shouldBe true
                view.remaining() shouldBe 100
                view.order() shouldBe ByteOrder.BIG_ENDIAN
                view.putInt(10, 0x01020304)
                it.memory.get(JAVA_BYTE, 10) shouldBe 1
            }
        }

        test("should write and read byte arrays at any place") {
            onBuffer(100) {
                it.write(byteArrayOf(1, 2, 3), offset = 97)
                it.readByteArray(offset = 96, length = 4) shouldBe byteArrayOf(0, 1, 2, 3)
                it.readByteArray(96) shouldBe byteArrayOf(0, 1, 2, 3)
                it.readByteArray().size shouldBe 100
                shouldThrow<IndexOutOfBoundsException> {
                    it.write(
                        byteArrayOf(1, 2),
                        offset = 99,
                    )
                }.message shouldContain
                    "buffer of 100 bytes"
                shouldThrow<IndexOutOfBoundsException> { it.readByteArray(-1, 1) }
            }
        }

        test("should carry many segments through kotlinx-io Buffers unchanged") {
            onBuffer(100_000) {
                val bytes = Random(7).nextBytes(100_000)
                val from = Buffer().apply { write(bytes) }
                it.write(from, length = 70_001)
                it.write(from, offset = 70_001)
                from.size shouldBe 0
                it.readByteArray() shouldBe bytes
                val to = Buffer().apply { writeString("head") }
                it.readTo(to, offset = 10, length = 99_990)
                to.size shouldBe 99_994
                to.skip(4)
                to.readByteArray() shouldBe bytes.copyOfRange(10, 100_000)
            }
        }

        test("should refuse more bytes than a kotlinx-io Buffer has or than fit, and take nothing") {
            onBuffer(100) {
                val from = Buffer().apply { write(ByteArray(101)) }
                shouldThrow<IndexOutOfBoundsException> { it.write(from) }
                shouldThrow<EOFException> {
                    it.write(
                        from.copy().apply { skip(50) },
                        length = 52,
                    )
                }.message shouldContain
                    "holds 51"
                from.size shouldBe 101
                shouldThrow<IndexOutOfBoundsException> { it.readTo(from, length = 101) }
                from.size shouldBe 101
            }
        }

        test("should read from a source that returns few bytes at a time, and write to a buffered sink") {
            class Trickle(
                private val bytes: Buffer,
            ) : RawSource {
                override fun readAtMostTo(
                    sink: Buffer,
                    byteCount: Long,
                ) = bytes.readAtMostTo(sink, minOf(byteCount, 1000))

                override fun close() = Unit
            }
            onBuffer(50_000) {
                val bytes = Random(8).nextBytes(50_000)
                val source = Trickle(Buffer().apply { write(bytes) }).buffered()
                it.write(source, length = 40_000)
                it.write(source, offset = 40_000, length = 10_000)
                source.exhausted() shouldBe true
                val to = Buffer()
                val sink = (to as kotlinx.io.RawSink).buffered()
                it.readTo(sink)
                sink.flush()
                to.readByteArray() shouldBe bytes
                shouldThrow<EOFException> {
                    it.write(
                        Buffer().apply { writeString("abc") } as kotlinx.io.Source,
                        length = 4,
                    )
                }.message shouldContain "after 3 bytes of 4"
            }
        }

        test("should refuse every operation after close") {
            onBuffer(100) {
                it.close()
                shouldThrow<IllegalStateException> { it.asByteBuffer() }
                shouldThrow<IllegalStateException> { it.write(ByteArray(1)) }
                shouldThrow<IllegalStateException> { it.readTo(Buffer(), 1) }
            }
        }
    })
