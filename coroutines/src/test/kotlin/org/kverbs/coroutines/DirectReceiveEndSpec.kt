package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.MemorySlice
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.MiB
import org.kverbs.dsl.connectOptions
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.lang.foreign.MemorySegment

private const val LARGE = 20_000

/** A buffer that another thread closes after its memory was looked up the [n]th time. */
private class ClosedMeanwhile(
    private val buffer: RegisteredBuffer,
    private var n: Int,
) : RegisteredBuffer() {
    override val memory: MemorySegment get() = buffer.memory.also { if (--n == 0) buffer.close() }

    override fun slice(
        offset: Long,
        length: Long,
    ): MemorySlice = buffer.slice(offset, length)

    override fun part(
        offset: Long,
        length: Long,
    ): MemorySlice = buffer.part(offset, length)

    override fun pin(): Unit = buffer.pin()

    override fun unpin(): Unit = buffer.unpin()

    override fun close(): Unit = buffer.close()
}

/** Tests what becomes of a large message at its sender when its receiver does not read it to the end. */
@OptIn(ExperimentalCoroutinesApi::class)
class DirectReceiveEndSpec :
    FunSpec({
        timeout = 120_000

        for (isDroppedFirst in listOf(false, true)) {
            val order = if (isDroppedFirst) "dropped and cancelled" else "cancelled and dropped"
            test("should keep the sender's memory while the device reads it for a receiver, $order meanwhile") {
                EmbeddedFabric.realTime(3).use { fabric ->
                    val one = fabric.addDevice()
                    val other = fabric.addDevice()
                    fabric.setFaults(Faults.NONE.duplication(0.0001)) // packets, no copies from memory to memory
                    val patient = connectOptions { rnrRetry(0).retryCount(7).timeout(17) }
                    TwoChannels({
                        fetchAhead(0)
                        keepAlive(null)
                    }, clientDevice = one.open(), serverDevice = other.open(), options = patient).use { ends ->
                        val pool = ends.clientPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
                        val into = ends.serverPd.bufferPool().take(LARGE.toLong())
                        withContext(Dispatchers.Default) {
                            val sender = launch { pool.take(LARGE.toLong()).use { ends.client.send(it) } }
                            while (ends.server.stats.waitingMessages < 1) delay(1)
                            fabric.setFaults(one, other, Faults.NONE.loss(1.0)) // the answers of the sender's device
                            val receiver = launch(start = CoroutineStart.UNDISPATCHED) { ends.server.receive(into) }
                            delay(20)
                            if (isDroppedFirst) ends.server.incoming.cancel()
                            receiver.cancelAndJoin()
                            ends.server.incoming.cancel()
                            delay(100)
                            sender.isCompleted shouldBe false
                            fabric.setFaults(one, other, Faults.NONE)
                            withTimeout(30_000) { sender.join() }
                            ends.server.send(ByteArray(3))
                            ends.client.receive().size shouldBe 3
                        }
                    }
                }
            }
        }

        for (length in listOf(10, LARGE)) {
            test("should lose no message when the buffer is closed while it comes, $length bytes") {
                for (n in 1..4) {
                    TwoChannels({ fetchAhead(0) }).use { ends ->
                        ends.client.send(numbered(n, length))
                        while (ends.server.stats.waitingMessages < 1) delay(1)
                        val pool = ends.serverPd.bufferPool()
                        ClosedMeanwhile(pool.take(LARGE.toLong()), n).use { into ->
                            val isReceived = runCatching { ends.server.receive(into) }.isSuccess
                            if (!isReceived) numberOf(ends.server.receive()) shouldBe n
                        }
                        pool.taken shouldBe 0
                        ends.client.send(numbered(5, length))
                        numberOf(ends.server.receive()) shouldBe 5
                    }
                }
            }
        }

        test("should count a large message as memory of the server while the server holds it, with fetchAhead(0)") {
            bound({
                maxMessageSize(4.MiB)
                channel { fetchAhead(0) }
            }) { server, host, address ->
                var held = 0L
                server.serve(this) {
                    var result = it.incoming.tryReceive()
                    while (it.incoming.isEmpty) {
                        delay(1)
                        if (result.isFailure && it.stats.waitingMessages > 0 && held == 0L) {
                            result = it.incoming.tryReceive()
                            held = 1
                        }
                    }
                    held = server.stats.memory
                    it.send(ByteArray(it.receive().size / 1024))
                    it.receiveOrNull()
                }
                val client = host.connectMessages(address)
                client.send(ByteArray(4.MiB.toInt()))
                withTimeout(30_000) { client.receive().size shouldBe 4096 }
                (held > 4.MiB) shouldBe true
                client.disconnect()
            }
        }

        test("should refuse a channel's maxMessageSize that does not fit into the server's memory") {
            rdmaHost { provider("embedded") }.use { host ->
                shouldThrow<IllegalArgumentException> {
                    host.bind(0) {
                        maxMemory(8.MiB)
                        channel { maxMessageSize(16.MiB) }
                    }
                }
            }
        }
    })
