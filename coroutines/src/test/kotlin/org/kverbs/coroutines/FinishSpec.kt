package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.get
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.net.InetSocketAddress

/** Receives the messages of a channel into nothing. */
private suspend fun Liar.receives(count: Int) {
    val memory = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
    repeat(count) { qp.receive(memory[0, 4096]) }
}

private suspend fun thrownBy(call: suspend () -> Unit): Throwable? = runCatching { call() }.exceptionOrNull()

/** Tests that a channel's finish() tells whether the peer has all, whatever the peer does then. */
class FinishSpec :
    FunSpec({
        timeout = 60_000

        /**
         * Begins finish() at the client, lets the server close once it has the end, and resumes finish() only after
         * the client has seen that.
         */
        fun finishSeenLate(server: suspend (MessageChannel) -> Unit) =
            TwoChannels().use { ends ->
                runBlocking {
                    ends.client.send(ByteArray(10))
                    val isHeld = CompletableDeferred<Unit>()
                    val isClosed = CompletableDeferred<Unit>()
                    launch(ends.clientDispatcher.coroutineDispatcher) {
                        isHeld.complete(Unit)
                        runBlocking { isClosed.await() } // holds the polling thread
                    }
                    isHeld.await()
                    val finishing = async(start = CoroutineStart.UNDISPATCHED) { ends.client.finish() }
                    withContext(Dispatchers.Default) {
                        ends.server.receive().size shouldBe 10
                        ends.server.receiveOrNull() shouldBe null
                        server(ends.server)
                        ends.server.close()
                    }
                    isClosed.complete(Unit)
                    while (ends.client.isOpen) Thread.sleep(1) // this thread resumes finish(), and must not yet
                    finishing.await()
                    ends.client.finish()
                }
            }

        test("should finish at a peer that finishes and closes before this side sees that it has the end") {
            finishSeenLate { it.finish() }
        }

        test("should finish at a peer that closes without an end of its own once it has that of this side") {
            finishSeenLate { }
        }

        test("should finish at a peer that has left, before this side has taken LEAVE from the shared receives") {
            bound { server, host, address ->
                val isHeld = CompletableDeferred<Unit>()
                val serving =
                    server.serve(this) {
                        for (message in it.incoming) message.size shouldBe 10
                        isHeld.await()
                    }
                val client = host.connectMessages(address)
                client.send(ByteArray(10))
                withContext(client.node.dispatcher.coroutineDispatcher) {
                    val first =
                        launch(start = CoroutineStart.UNDISPATCHED) {
                            cancel() // finish() sends the end, and does not wait for it
                            client.finish()
                        }
                    first.join()
                    isHeld.complete(Unit)
                    while (client.isOpen) Thread.sleep(1) // holds the polling thread
                    client.finish()
                }
                client.close()
                serving.cancelAndJoin()
            }
        }

        test("should finish at a peer that disconnects although the network loses its answers") {
            EmbeddedFabric.realTime(3).use { fabric ->
                val one = fabric.addDevice()
                val other = fabric.addDevice()
                val address = one.open().use { it.queryGid(1, it.defaultGidIndex(1)).toInetAddress() }
                rdmaHost { device(one) }.use { servers ->
                    rdmaHost { device(other) }.use { clients ->
                        servers.bind(0) { channel { fetchAhead(0) } }.use { server ->
                            val serving =
                                server.serve(this) {
                                    it.finish()
                                    thrownBy { it.awaitRemote("x") }.shouldBeInstanceOf<ChannelClosedException>()
                                    // the end of the client is here, and the large message lies at the client
                                    fabric.setFaults(one, other, Faults.NONE.loss(1.0))
                                    launch(Dispatchers.Default) {
                                        delay(100)
                                        fabric.setFaults(one, other, Faults.NONE)
                                    }
                                    it.disconnect()
                                }
                            val client = clients.connectMessages(InetSocketAddress(address, server.address.port))
                            client.send(ByteArray(20_000))
                            client.finish()
                            client.disconnect()
                            serving.cancelAndJoin()
                        }
                    }
                }
            }
        }

        /** Sends two large messages and the end to a peer that has them and closes without DONE. */
        suspend fun finishWithoutDone(
            close: Int,
            block: suspend (Liar, sends: List<Throwable?>, finish: Throwable?) -> Unit,
        ) = Liar({ largeMessages(2) }, maxMessageSize = 8192).use { liar ->
            coroutineScope {
                val receiving = launch { liar.receives(3) }
                liar.say(16) // a channel sends once it has heard its peer
                val pool = liar.pd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
                val buffer = pool.take(8192)
                val sends =
                    List(2) { async(start = CoroutineStart.UNDISPATCHED) { thrownBy { liar.channel.send(buffer) } } }
                val finish = async(start = CoroutineStart.UNDISPATCHED) { thrownBy { liar.channel.finish() } }
                receiving.join()
                liar.say(18)
                liar.say(close)
                block(liar, sends.awaitAll(), finish.await())
                buffer.close()
                pool.close() // the buffer is free
            }
        }

        test("should finish, and end the sends of large messages, at a peer that leaves without an answer to them") {
            finishWithoutDone(21) { liar, sends, finish ->
                sends shouldBe listOf(null, null)
                finish shouldBe null
                liar.channel.receiveOrNull() shouldBe null
                shouldThrow<ChannelClosedException> { liar.channel.remote("x") }.message shouldContain
                    "after its last message"
            }
        }

        test("should fail to finish at a peer that has the end, and closes with large messages unread") {
            finishWithoutDone(19) { _, sends, finish ->
                (sends + finish).forEach { it.shouldBeInstanceOf<ChannelClosedException>() }
            }
        }
    })
