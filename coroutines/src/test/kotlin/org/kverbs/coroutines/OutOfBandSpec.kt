package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.RemoteMemory
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.get
import org.kverbs.dsl.openDevice
import java.io.EOFException
import java.io.IOException
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.ProtocolException
import java.nio.ByteBuffer
import java.nio.channels.ServerSocketChannel
import java.nio.channels.SocketChannel

/** Two ends of a TCP connection on the loopback. */
private suspend fun sockets(block: suspend (SocketChannel, SocketChannel) -> Unit) {
    ServerSocketChannel.open().use { listener ->
        listener.bind(InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
        SocketChannel.open(listener.localAddress).use { near -> listener.accept().use { far -> block(near, far) } }
    }
}

/** Reads the lines that the other end sends before it needs an answer. */
private fun SocketChannel.readLines(count: Int) {
    val byte = ByteBuffer.allocate(1)
    var lines = 0
    while (lines < count) if (read(byte.clear()) == 1 && byte[0] == '\n'.code.toByte()) lines++
}

class OutOfBandSpec :
    FunSpec({
        timeout = 60_000

        suspend fun queuePair(block: suspend (AsyncQueuePair<RcVerbs>) -> Unit) {
            openDevice("embedded0").use { device ->
                device.completionDispatcher().use { block(it.qp(device.protectionDomain(), RC)) }
            }
        }

        test("should connect two queue pairs over TCP, hand each the other's note, and leave the socket as it was") {
            sockets { near, far ->
                queuePair { client ->
                    queuePair { server ->
                        val there = server.queuePair.protectionDomain().memoryRegion(64, LOCAL_WRITE, REMOTE_WRITE)
                        val here = client.queuePair.protectionDomain().memoryRegion(64, LOCAL_WRITE)
                        lateinit var received: Deferred<Received>
                        val told =
                            coroutineScope {
                                val serving =
                                    async {
                                        server.connectOver(
                                            far,
                                            there.remote().toText(),
                                        ) { received = server.postReceive(there[32, 32]) }
                                    }
                                val note = client.connectOver(near, note = "Grüße")
                                serving.await() shouldBe "Grüße"
                                note
                            }
                        here.memory().setString(0, "by hand")
                        client.write(here[0, 8], to = RemoteMemory.parse(told))
                        there.memory().getString(0) shouldBe "by hand"
                        client.send(here[0, 8])
                        received.await().length shouldBe 8
                        near.write(ByteBuffer.wrap(byteArrayOf(7)))
                        ByteBuffer.allocate(2).also { far.read(it) shouldBe 1 }[0] shouldBe 7
                    }
                }
            }
        }

        test("should report an end that closes the socket, sends something else, or sends a line without end") {
            for ((said, text) in listOf(
                "" to "closed the socket before both queue pairs were connected",
                "GET / HTTP/1.0\nHost: x\n" to
                    "did not send its queue pair; call connectOver at both ends: not a queue pair endpoint",
                "x".repeat(5000) to "sent a line of more than 4096 bytes",
            )) {
                sockets { near, far ->
                    queuePair { qp ->
                        far.write(ByteBuffer.wrap(said.encodeToByteArray()))
                        far.shutdownOutput()
                        val failure = shouldThrow<IOException> { qp.connectOver(near) }
                        failure::class shouldBe if (said.isEmpty()) EOFException::class else ProtocolException::class
                        failure.message shouldStartWith far.localAddress.toString()
                        failure.message shouldContain text
                        near.isOpen shouldBe false
                        qp.queuePair.state() shouldBe QueuePairState.RESET
                    }
                }
            }
        }

        for ((moment, isWaiting) in mapOf("before it has begun" to false, "while it waits for the other end" to true)) {
            test("should end at once when it is cancelled $moment") {
                sockets { near, far ->
                    queuePair { qp ->
                        coroutineScope {
                            val connecting = launch(start = UNDISPATCHED) { qp.connectOver(near) }
                            if (isWaiting) far.readLines(2)
                            connecting.cancel()
                            connecting.join()
                            near.isOpen shouldBe false
                        }
                    }
                }
            }
        }

        test("should refuse a note of two lines, and one that is too long, before anything is sent") {
            sockets { near, far ->
                queuePair { qp ->
                    for (note in listOf("a\nb", "ü".repeat(2049))) {
                        shouldThrow<IllegalArgumentException> { qp.connectOver(near, note) }.message shouldContain
                            "give one line of at most 4096 bytes"
                    }
                    near.close()
                    far.read(ByteBuffer.allocate(1)) shouldBe -1
                }
            }
        }
    })
