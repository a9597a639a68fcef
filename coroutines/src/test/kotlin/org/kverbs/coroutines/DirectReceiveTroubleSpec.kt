package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.connectOptions
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.lang.foreign.ValueLayout.JAVA_BYTE

private const val LARGE = 20_000

/** Two channels on devices that exchange packets, which can be lost. */
private suspend fun overPackets(
    seed: Long,
    block: suspend (TwoChannels, (Faults) -> Unit) -> Unit,
) = EmbeddedFabric.realTime(seed).use { fabric ->
    val (one, other) = List(2) { fabric.addDevice() }
    fabric.setFaults(Faults.NONE.duplication(0.0001)) // packets, no copies from memory to memory
    val patient = connectOptions { rnrRetry(0).retryCount(7).timeout(17) }
    val settings: MessageChannelBuilder.() -> Unit = {
        fetchAhead(0)
        keepAlive(null)
    }
    TwoChannels(settings, clientDevice = one.open(), serverDevice = other.open(), options = patient).use { ends ->
        withContext(Dispatchers.Default) { block(ends) { fabric.setFaults(one, other, it) } }
    }
}

private fun RegisteredBuffer.number(): Int = numberOf(memory.asSlice(0, LARGE.toLong()).toArray(JAVA_BYTE))

/** Tests large messages that are read straight into buffers when the peer or the network misbehaves. */
class DirectReceiveTroubleSpec :
    FunSpec({
        timeout = 120_000

        test("should tell every later call why a message could not be read, and free the buffer of its receiver") {
            Liar({ fetchAhead(0) }).use { liar ->
                liar.say(1, body = ByteArray(5))
                liar.say(2, body = large(LARGE.toLong()))
                liar.channel.receive().size shouldBe 5
                val pool = liar.pd.bufferPool()
                pool.take(LARGE.toLong()).use { into ->
                    repeat(2) {
                        val refusal = shouldThrow<WorkCompletionException> { liar.channel.receive(into) }
                        refusal.status() shouldBe REM_ACCESS_ERR
                    }
                }
                val calls = listOf<suspend () -> Unit>({ liar.channel.receive() }, { liar.channel.send(ByteArray(1)) })
                for (call in calls) shouldThrow<WorkCompletionException> { call() }.status() shouldBe REM_ACCESS_ERR
                pool.taken shouldBe 0
            }
        }

        for (reads in listOf(true, false)) {
            val how = if (reads) "a second buffer" else "an array"
            test("should tell the sender when the device has read a message for a cancelled receiver and into $how") {
                overPackets(5) { ends, disturb ->
                    val sources = ends.clientPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
                    val buffers = ends.serverPd.bufferPool()
                    val source = sources.take(LARGE.toLong()).apply { write(numbered(7, LARGE)) }
                    withContext(Dispatchers.Default) {
                        val sender = launch { source.use { ends.client.send(it, LARGE) } }
                        while (ends.server.stats.waitingMessages < 1) delay(1)
                        disturb(Faults.NONE.loss(1.0)) // the answers of the sender's device
                        buffers.take(LARGE.toLong()).use { into ->
                            launch(start = CoroutineStart.UNDISPATCHED) { ends.server.receive(into) }.cancelAndJoin()
                        }
                        val second =
                            async(start = CoroutineStart.UNDISPATCHED) {
                                if (reads) {
                                    buffers.take(LARGE.toLong()).use { ends.server.receive(it).run { it.number() } }
                                } else {
                                    numberOf(ends.server.receive())
                                }
                            }
                        delay(50)
                        sender.isCompleted shouldBe false
                        buffers.taken shouldBe if (reads) 2 else 1 // the device writes to the first buffer, too
                        disturb(Faults.NONE)
                        second.await() shouldBe 7
                        withTimeout(30_000) { sender.join() }
                        withTimeout(30_000) { while (buffers.taken > 0) delay(1) }
                    }
                }
            }
        }

        test("should lose and reorder nothing over a network that loses packets in both directions") {
            overPackets(6) { ends, disturb ->
                disturb(Faults.NONE.loss(0.02))
                withContext(Dispatchers.Default) {
                    launch {
                        repeat(60) { ends.client.send(numbered(it, if (it % 4 == 0) 20 else LARGE)) }
                        ends.client.finish()
                    }
                    ends.serverPd.bufferPool().take(LARGE.toLong()).use { into ->
                        repeat(60) {
                            val length = ends.server.receive(into)
                            numberOf(into.memory.asSlice(0, length).toArray(JAVA_BYTE)) shouldBe it
                        }
                    }
                    ends.server.receiveOrNull() shouldBe null
                }
            }
        }
    })
