package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.io.Buffer
import kotlinx.io.IOException
import kotlinx.io.RawSource
import kotlinx.io.buffered
import kotlinx.io.files.Path
import kotlinx.io.files.SystemFileSystem
import kotlinx.io.readByteArray
import java.io.InterruptedIOException
import java.time.Duration
import java.util.concurrent.atomic.AtomicLong
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds

class MessageStreamsSpec :
    FunSpec({
        timeout = 60_000

        suspend fun <R> connected(
            handler: suspend CoroutineScope.(MessageConnection) -> Unit,
            block: suspend CoroutineScope.(MessageConnection) -> R,
        ): R =
            withContext(Dispatchers.IO) {
                val port = CompletableDeferred<Int>()
                val server =
                    launch { rdmaServer(0, "embedded0", onListening = { port.complete(it.port) }, handler = handler) }
                rdmaClient("127.0.0.1", port.await(), "embedded0", block = block).also { server.cancelAndJoin() }
            }

        val bytes = Random(7).nextBytes(3_000_001)

        test("should copy a file by transferTo, on both sides") {
            val from = tempfile().apply { writeBytes(bytes) }
            val to = tempfile()
            val copied = CompletableDeferred<Long>()
            connected({ connection ->
                SystemFileSystem.sink(Path(to.path)).buffered().use { file ->
                    copied.complete(connection.asSource().buffered().transferTo(file))
                }
            }) { connection ->
                SystemFileSystem.source(Path(from.path)).buffered().use { file ->
                    connection.asSink().buffered().use { sink -> file.transferTo(sink) }
                }
                copied.await() shouldBe bytes.size
            }
            to.readBytes() shouldBe bytes
        }

        test("should lose no byte when the thread that reads is interrupted") {
            val count = 3000
            connected({ connection -> repeat(count) { connection.send(byteArrayOf(it.toByte())) } }) { connection ->
                val read = Buffer()
                val reader =
                    Thread.ofPlatform().start {
                        val source = connection.asSource()
                        while (true) {
                            try {
                                if (source.readAtMostTo(read, 1) < 0) break
                            } catch (_: InterruptedIOException) {
                                Thread.interrupted() // the next read begins without the interrupt
                            }
                        }
                    }
                while (reader.isAlive) {
                    reader.interrupt()
                    Thread.sleep(Duration.ofNanos(100_000))
                }
                read.readByteArray() shouldBe ByteArray(count) { it.toByte() }
            }
        }

        test("should fail the reader, and not end the stream, when the writer closes in the middle") {
            connected({
                it.send(ByteArray(10))
                it.close()
            }) { connection -> shouldThrow<IOException> { connection.asSource().buffered().readByteArray() } }
        }

        test("should copy from a source and to a sink while it suspends") {
            connected({ connection ->
                val received = Buffer()
                connection.transferTo(received) shouldBe bytes.size
                connection.transferFrom(received) shouldBe bytes.size
            }) { connection ->
                val echoed = Buffer()
                val echo = launch { connection.transferTo(echoed) shouldBe bytes.size }
                connection.transferFrom(Buffer().apply { write(bytes) }) shouldBe bytes.size
                connection.finish()
                echo.join()
                echoed.readByteArray() shouldBe bytes
            }
        }

        test("should carry the same bytes for every message size") {
            for (size in listOf(1L, 7, 4088, 4089, 65536, 5_000_000)) {
                val part = bytes.copyOf(minOf(bytes.size.toLong(), size * 50).toInt())
                connected({ connection ->
                    connection.asSink(size).buffered().use { sink -> Buffer().apply { write(part) }.transferTo(sink) }
                }) { connection -> connection.asSource().buffered().readByteArray() shouldBe part }
            }
        }

        test("should send flushed bytes at once and keep the stream open") {
            connected({ connection ->
                val sink = connection.asSink().buffered()
                sink.write("question".encodeToByteArray())
                sink.flush()
                connection.asSource().buffered().readByteArray(6).decodeToString() shouldBe "answer"
                sink.close()
            }) { connection ->
                val source = connection.asSource().buffered()
                source.readByteArray(8).decodeToString() shouldBe "question"
                connection.send("ans".encodeToByteArray())
                connection.send(ByteArray(0))
                connection.send("wer".encodeToByteArray())
                source.exhausted() shouldBe true
            }
        }

        test("should make the writer wait for the reader") {
            val total = 64L shl 20
            val sent = AtomicLong()
            connected({ connection ->
                val zeros =
                    object : RawSource {
                        override fun readAtMostTo(
                            sink: Buffer,
                            byteCount: Long,
                        ): Long {
                            if (sent.get() >= total) return -1
                            sink.write(ByteArray(byteCount.toInt()))
                            sent.addAndGet(byteCount)
                            return byteCount
                        }

                        override fun close() = Unit
                    }
                connection.transferFrom(zeros)
            }) { connection ->
                val source = connection.asSource()
                val buffer = Buffer()
                source.readAtMostTo(buffer, 1)
                delay(300.milliseconds) // enough time for a writer that does not wait to write everything
                sent.get() shouldBeLessThan total / 2
                var received = buffer.size
                buffer.clear()
                while (true) {
                    val more = source.readAtMostTo(buffer, 1 shl 20)
                    if (more < 0) break
                    received += more
                    buffer.clear()
                }
                received shouldBe total
            }
        }

        test("should fail the writer, by an IOException, when the reader is gone") {
            connected({ it.close() }) { connection ->
                shouldThrow<IOException> {
                    val sink = connection.asSink(1000)
                    repeat(1000) { sink.write(Buffer().apply { write(ByteArray(1000)) }, 1000) }
                }
            }
        }

        test("should fail the thread that is interrupted while it reads") {
            connected({ awaitCancellation() }) { connection ->
                val outcome = CompletableDeferred<Throwable?>()
                val reader =
                    Thread.ofVirtual().start {
                        val read = runCatching { connection.asSource().readAtMostTo(Buffer(), 1) }
                        outcome.complete(read.exceptionOrNull())
                    }
                delay(20.milliseconds)
                reader.interrupt()
                outcome.await()!!::class shouldBe InterruptedIOException::class
                connection.close()
            }
        }

        test("should refuse use after close, and ignore a second close") {
            connected({ it.receiveOrNull() }) { connection ->
                val sink = connection.asSink()
                sink.close()
                sink.close()
                shouldThrow<IllegalStateException> { sink.write(Buffer().apply { write(ByteArray(1)) }, 1) }
                val source = connection.asSource()
                source.close()
                shouldThrow<IllegalStateException> { source.readAtMostTo(Buffer(), 1) }.message shouldContain "closed"
            }
        }

        test("should refuse messages of no size") {
            connected({ }) { connection ->
                shouldThrow<IllegalArgumentException> { connection.asSink(0) }
                shouldThrow<IllegalArgumentException> { connection.transferFrom(Buffer(), -1) }
            }
        }
    })
