package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.ProtectionDomain
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.memoryRegion
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.random.Random

private fun ProtectionDomain.open(bytes: Long) =
    memoryRegion(bytes) {
        access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
    }

class RemoteRegionSpec :
    FunSpec({
        timeout = 60_000

        test("should read and write published memory at any offset and of any length") {
            TwoChannels().use { ends ->
                val region = ends.serverPd.open(5_000_000)
                ends.server.publish("table", region)
                val remote = ends.client.remote("table")
                remote.length shouldBe 5_000_000
                for ((at, length) in listOf(0 to 0, 0 to 1, 3 to 17, 1_000_000 to 3_500_000, 4_999_999 to 1)) {
                    val bytes = Random(length).nextBytes(length)
                    remote.write(bytes, at)
                    region
                        .memory()
                        .asSlice(
                            at.toLong(),
                            length.toLong(),
                        ).toArray(JAVA_BYTE)
                        .contentEquals(bytes) shouldBe
                        true
                    remote.read(at, length).contentEquals(bytes) shouldBe true
                }
            }
        }

        test("should move bytes straight between a pooled buffer and the peer's memory") {
            TwoChannels().use { ends ->
                val remote = ends.client.remote(ends.serverPd.open(100_000).remote())
                ends.clientPd.bufferPool().use { pool ->
                    pool.take(70_000).use { buffer ->
                        val bytes = Random(1).nextBytes(70_000)
                        buffer.write(bytes)
                        remote.write(buffer, 1000)
                        buffer.memory.fill(0)
                        remote.read(buffer, 1000, 69_999)
                        buffer.memory.toArray(JAVA_BYTE).contentEquals(bytes.copyOf(69_999) + 0) shouldBe true
                    }
                }
            }
        }

        test("should count in the peer's memory, from many coroutines at once") {
            TwoChannels({ oneSidedOperations(4) }).use { ends ->
                val region = ends.serverPd.open(64)
                val remote = ends.client.remote(region.remote())
                withContext(Dispatchers.Default) {
                    repeat(20) { launch { repeat(50) { remote.fetchAndAdd(8, 3) } } }
                }
                region.memory().get(JAVA_LONG, 8) shouldBe 3000
                remote.readLong(8) shouldBe 3000
                remote.compareAndSwap(8, 3000, -1) shouldBe 3000
                remote.compareAndSwap(8, 3000, -2) shouldBe -1
                remote.writeLong(16, Long.MIN_VALUE)
                remote.readLong(16) shouldBe Long.MIN_VALUE
                region.memory().get(JAVA_LONG, 16) shouldBe Long.MIN_VALUE
            }
        }

        test("should write many numbers at once, each from its own place") {
            TwoChannels({ oneSidedOperations(5) }).use { ends ->
                val region = ends.serverPd.open(8000)
                val remote = ends.client.remote(region.remote())
                coroutineScope { repeat(1000) { launch { remote.writeLong(it * 8L, it * 7L) } } }
                for (i in 0 until 1000L) region.memory().getAtIndex(JAVA_LONG, i) shouldBe i * 7
            }
        }

        test("should refuse bytes outside the memory before anything is sent") {
            TwoChannels().use { ends ->
                val remote = ends.client.remote(ends.serverPd.open(64).remote())
                shouldThrow<IndexOutOfBoundsException> { remote.read(60, 5) }.message shouldContain
                    "5 bytes at 60 reach beyond the remote region of 64"
                shouldThrow<IndexOutOfBoundsException> { remote.write(ByteArray(1), -1) }
                shouldThrow<IndexOutOfBoundsException> { remote.writeLong(57, 1) }
                shouldThrow<IndexOutOfBoundsException> { remote.readLong(Long.MAX_VALUE) }
                shouldThrow<IndexOutOfBoundsException> { remote.fetchAndAdd(64, 1) }
                shouldThrow<IllegalArgumentException> { remote.fetchAndAdd(4, 1) }.message shouldContain "multiple of 8"
                remote.readLong(56) shouldBe 0
            }
        }

        test("should wait for a name until the peer publishes it, and forget it when it is withdrawn") {
            TwoChannels().use { ends ->
                coroutineScope {
                    val remote = async(start = CoroutineStart.UNDISPATCHED) { ends.client.awaitRemote("später") }
                    val published = ends.server.publish("später", ends.serverPd.open(64))
                    remote.await().memory shouldBe published.remote
                    published.withdraw()
                    published.withdraw()
                    ends.server.publish("später", ends.serverPd.open(128))
                    ends.server.send(ByteArray(0))
                    ends.client.receive() // arrives after the publication
                    ends.client.remote("später").length shouldBe 128
                }
            }
        }

        test("should list the published names when a name is not published") {
            TwoChannels({ receiveSlots(1) }).use { ends ->
                shouldThrow<NotPublishedException> { ends.client.remote("table") }.message shouldContain
                    "it has published nothing"
                ends.server.publish("table", 64)
                ends.server.publish("counter", 8, AccessFlag.REMOTE_ATOMIC)
                val failure = shouldThrow<NotPublishedException> { ends.client.remote("tabel") }
                failure.message shouldContain "no memory named 'tabel'; it has published 'counter', 'table'"
                failure.published shouldBe setOf("table", "counter")
                withTimeoutOrNull(0) { ends.client.remote("cancelled") }
                coroutineScope {
                    repeat(20) { launch { shouldThrow<NotPublishedException> { ends.client.remote("nothing $it") } } }
                }
                ends.client.remote("table").length shouldBe 64
            }
        }

        test("should fill new memory before the peer is told, and publish nothing if that fails") {
            TwoChannels().use { ends ->
                coroutineScope {
                    val table = async(start = CoroutineStart.UNDISPATCHED) { ends.client.awaitRemote("table") }
                    val published =
                        ends.server.publish("table", 64) {
                            shouldThrow<NotPublishedException> { runBlocking { ends.client.remote("table") } }
                            table.isCompleted shouldBe false
                            setString(0, "filled")
                        }
                    table.await().read(0, 7).decodeToString() shouldBe "filled\u0000"
                    published.memory.getString(0) shouldBe "filled"
                    shouldThrow<IllegalStateException> { ends.server.publish("other", 64) { error("no content") } }
                    shouldThrow<NotPublishedException> { ends.client.remote("other") }.published shouldBe setOf("table")
                }
            }
        }

        test("should register memory for the peer, and give it back when it is withdrawn or the channel ends") {
            TwoChannels().use { ends ->
                Arena.ofShared().use { arena ->
                    val table = arena.allocate(64)
                    table.setString(0, "shared")
                    val published = ends.server.publish("table", table)
                    val remote = ends.client.awaitRemote("table")
                    remote.read(0, 6).decodeToString() shouldBe "shared"
                    val own = ends.server.publish("own", 64, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                    ends.client.awaitRemote("own").write("written".encodeToByteArray())
                    own.memory.asSlice(0, 7).toArray(JAVA_BYTE).decodeToString() shouldBe "written"
                    shouldThrow<IllegalArgumentException> {
                        ends.server.publish(
                            "foreign",
                            ends.clientPd.open(8),
                        )
                    }.message shouldContain
                        "another protection domain"
                    published.withdraw()
                    published.region.isOpen shouldBe false
                    ends.server.send(ByteArray(0))
                    ends.client.receive() // arrives after the withdrawal
                    shouldThrow<NotPublishedException> { ends.client.remote("table") }
                    shouldThrow<WorkCompletionException> { remote.read(0, 6) }
                    ends.server.close()
                    own.region.isOpen shouldBe false
                }
            }
        }

        test("should publish more often than there are slots") {
            TwoChannels({ receiveSlots(2) }).use { ends ->
                val region = ends.serverPd.open(64)
                repeat(50) { ends.server.publish("region $it", region) }
                ends.client.remote("region 49").length shouldBe 64
            }
        }

        test("should report a region without remote access, a name in use, and a name that will never be published") {
            TwoChannels().use { ends ->
                val region = ends.serverPd.open(64)
                val closed = ends.serverPd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                shouldThrow<IllegalArgumentException> { ends.server.publish("closed", closed) }.message shouldContain
                    "gives a peer no access"
                shouldThrow<IllegalArgumentException> {
                    ends.server.publish(
                        "x".repeat(201),
                        region,
                    )
                }.message shouldContain
                    "201 bytes"
                ends.server.publish("one", region)
                shouldThrow<IllegalArgumentException> { ends.server.publish("one", region) }.message shouldContain
                    "published already"
                ends.server.finish()
                shouldThrow<ChannelClosedException> { ends.client.awaitRemote("never") }.message shouldContain
                    "last message"
            }
        }

        test("should name the operation that the peer's device refused") {
            for ((operation, touch) in listOf<Pair<WorkCompletionOpcode, suspend (RemoteRegion) -> Unit>>(
                WorkCompletionOpcode.RDMA_WRITE to { it.write(ByteArray(3)) },
                WorkCompletionOpcode.RDMA_READ to { it.read(0, 3) },
                WorkCompletionOpcode.FETCH_ADD to { it.fetchAndAdd(0, 1) },
            )) {
                TwoChannels().use { ends ->
                    val region = ends.serverPd.open(64)
                    val remote = ends.client.remote(region.remote())
                    region.close()
                    val failure = shouldThrow<WorkCompletionException> { touch(remote) }
                    failure.opcode() shouldBe operation
                    failure.message shouldContain " ($operation) on queue pair "
                }
            }
        }

        test("should end the channel when the peer's memory is gone") {
            TwoChannels().use { ends ->
                val region = ends.serverPd.open(64)
                val remote = ends.client.remote(region.remote())
                region.close()
                shouldThrow<WorkCompletionException> { remote.readLong(0) }
                shouldThrow<WorkCompletionException> { ends.client.receive() }
                shouldThrow<WorkCompletionException> { remote.write(ByteArray(3)) }
                ends.client.remote(RemoteMemory(0, 1, 0)).length shouldBe 1
            }
        }
    })
