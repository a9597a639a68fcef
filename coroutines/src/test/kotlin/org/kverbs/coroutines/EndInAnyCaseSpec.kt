package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.dsl.RC
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno
import org.kverbs.embedded.Failure
import org.kverbs.embedded.Operation
import kotlin.time.Duration.Companion.seconds

/** Tests that the end of a channel or a queue pair ends all its parts although the device refuses to free one. */
class EndInAnyCaseSpec :
    FunSpec({
        timeout = 60_000

        test("should end a wait for published memory although the region of a large message can't be closed") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (near, far) = List(2) { fabric.addDevice() }
                TwoChannels({ fetchAhead(0) }, clientDevice = near.open(), serverDevice = far.open()).use { two ->
                    supervisorScope {
                        val waiting = async(start = UNDISPATCHED) { two.client.awaitRemote("never") }
                        two.client.send(ByteArray(8 shl 20))
                        val injection = fabric.inject(near, Failure.of(Operation.DEREGISTER_MEMORY, Errno.EIO))
                        two.server.close()
                        val ended =
                            withTimeoutOrNull(5.seconds) {
                                runCatching { waiting.await() }.exceptionOrNull()
                            }
                        coroutineContext.cancelChildren()
                        injection.happened() shouldBe 1
                        (ended is ChannelClosedException) shouldBe true
                    }
                }
            }
        }

        test("should close the queue pair although the region of a large message can't be closed") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (near, far) = List(2) { fabric.addDevice() }
                TwoChannels({ fetchAhead(0) }, clientDevice = near.open(), serverDevice = far.open()).use { two ->
                    two.client.send(ByteArray(8 shl 20))
                    val injection = fabric.inject(near, Failure.of(Operation.DEREGISTER_MEMORY, Errno.EIO))
                    runCatching { two.client.close() }
                    injection.happened() shouldBe 1
                    two.client.queuePair.queuePair.isOpen shouldBe false
                }
            }
        }

        test("should end all receives and free the memory of a closed queue pair although a region can't be closed") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val (near, far) = List(2) { fabric.addDevice() }
                TwoChannels({ fetchAhead(0) }, clientDevice = near.open(), serverDevice = far.open()).use { two ->
                    supervisorScope {
                        two.client.send(ByteArray(8 shl 20))
                        val waiting = async(start = UNDISPATCHED) { two.client.awaitRemote("never") }
                        val injection = fabric.inject(near, Failure.of(Operation.DEREGISTER_MEMORY, Errno.EIO))
                        runCatching { two.client.queuePair.queuePair.close() }
                        val ended = withTimeoutOrNull(5.seconds) { runCatching { waiting.await() }.exceptionOrNull() }
                        coroutineContext.cancelChildren()
                        injection.happened() shouldBe 1
                        (ended is ChannelClosedException) shouldBe true
                    }
                }
            }
        }

        test("should close all resources although one throws an error") {
            var isClosed = false
            runCatching { closeAll({ throw OutOfMemoryError("planted") }, { isClosed = true }) }
            isClosed shouldBe true
        }

        for (isRefused in listOf(false, true)) {
            test("should end the receives of a closed queue pair; the region of one can't be closed: $isRefused") {
                EmbeddedFabric.realTime(1).use { fabric ->
                    val one = fabric.addDevice()
                    one.open().use { device ->
                        val pd = device.protectionDomain()
                        val dispatcher = device.completionDispatcher()
                        val (qp, peer) = List(2) { dispatcher.qp(pd, RC) }
                        qp.connect(peer.endpoint())
                        peer.connect(qp.endpoint())
                        val pool = pd.bufferPool { access(LOCAL_WRITE) }
                        val buffer = pool.take(64)
                        val memory = pd.memoryRegion(64, LOCAL_WRITE)
                        supervisorScope {
                            qp.postReceive(buffer)
                            buffer.close()
                            runCatching { pool.close() }
                            val waiting = async(start = UNDISPATCHED) { runCatching { qp.receive(memory.slice()) } }
                            val refusal =
                                if (isRefused) {
                                    fabric.inject(
                                        one,
                                        Failure.of(Operation.DEREGISTER_MEMORY, Errno.EIO),
                                    )
                                } else {
                                    null
                                }
                            runCatching { qp.queuePair.close() }
                            withTimeoutOrNull(5.seconds) { waiting.join() }
                            if (isRefused) refusal?.happened() shouldBe 1
                            val isEnded = waiting.isCompleted
                            coroutineContext.cancelChildren()
                            isEnded shouldBe true
                        }
                    }
                }
            }
        }
    })
