package org.kverbs.blocking

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.coroutines.ChannelClosedException
import org.kverbs.coroutines.NotPublishedException
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.util.concurrent.FutureTask

/** Tests memory of the peer through the blocking API. */
class BlockingMemorySpec :
    FunSpec({
        timeout = 60_000

        /** Runs the block with a client of a server that runs [handler]. */
        fun connected(
            handler: ConnectionHandler,
            block: (BlockingConnection) -> Unit,
        ) = BlockingHost.open(Device.byName("embedded0")).use { host ->
            host.server().onFailure { }.serve(0, handler).use { server ->
                host.connect("198.18.0.1", server.address().port).use(block)
            }
        }

        test("should read, write and count in the peer's memory") {
            connected({
                val table = it.publish("table", 64, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC)
                it.receive()
                it.send(byteArrayOf(table.memory().get(JAVA_LONG, 0).toByte()))
            }) { client ->
                val table = client.awaitRemote("table")
                table.length() shouldBe 64
                table.writeLong(0, 40)
                table.fetchAndAdd(0, 1) shouldBe 40
                table.compareAndSwap(0, 7, 8) shouldBe 41
                table.compareAndSwap(0, 41, 42) shouldBe 41
                table.readLong(0) shouldBe 42
                table.write(byteArrayOf(1, 2, 3), 60 - 3)
                table.read(56, 4) shouldBe byteArrayOf(0, 1, 2, 3)
                shouldThrow<IndexOutOfBoundsException> { table.read(60, 5) }
                client.send(byteArrayOf())
                client.receive() shouldBe byteArrayOf(42)
            }
        }

        test("should end a wait for memory by an interrupt or by the peer's last message") {
            connected({ it.receiveOrNull() }) { client ->
                val waiting = FutureTask { shouldThrow<InterruptedException> { client.awaitRemote("never") } }
                Thread.ofVirtual().start(waiting).interrupt()
                waiting.get()
                shouldThrow<NotPublishedException> { client.remote("never") }.name shouldBe "never"
                client.finish()
                shouldThrow<ChannelClosedException> { client.awaitRemote("never") }
            }
        }

        test("should end the peer's access when memory is withdrawn") {
            connected({
                val table = it.publish("table", 8, REMOTE_READ, REMOTE_WRITE)
                it.receive()
                table.withdraw()
                table.withdraw()
                it.send(byteArrayOf())
                it.receiveOrNull()
            }) { client ->
                val table = client.awaitRemote("table")
                table.writeLong(0, 1)
                client.send(byteArrayOf())
                client.receive()
                shouldThrow<NotPublishedException> { client.remote("table") }
                shouldThrow<WorkCompletionException> { table.readLong(0) }.status() shouldBe
                    WorkCompletionStatus.REM_ACCESS_ERR
                shouldThrow<RdmaException> { client.send(byteArrayOf()) }
            }
        }
    })
