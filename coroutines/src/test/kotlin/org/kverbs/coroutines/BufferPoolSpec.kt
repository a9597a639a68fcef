package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.Diagnostics
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.openDevice
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.util.concurrent.atomic.AtomicInteger
import kotlin.random.Random

class BufferPoolSpec :
    FunSpec({
        timeout = 30_000

        fun <T> onDevice(block: (ProtectionDomain) -> T): T =
            openDevice("embedded0").use { block(it.protectionDomain()) }

        suspend fun <T> withPool(
            slabs: Int,
            block: suspend CoroutineScope.(BufferPool) -> T,
        ): T =
            openDevice("embedded0").use { device ->
                device
                    .protectionDomain()
                    .bufferPool {
                        maxBytes(slabs * 4.KiB)
                        minBufferSize(256)
                        maxBufferSize(4.KiB)
                        slabSize(4.KiB)
                    }.use { pool -> coroutineScope { block(pool) } }
            }

        fun CoroutineScope.taking(
            pool: BufferPool,
            size: Long,
        ): Deferred<RegisteredBuffer> = async(start = CoroutineStart.UNDISPATCHED) { pool.take(size) }

        test("should lend buffers of the requested length that do not overlap") {
            withPool(slabs = 4) { pool ->
                val buffers = listOf(1L, 255, 256, 257, 1000, 4096, 300).map { pool.take(it) }
                buffers.map { it.memory.byteSize() } shouldContainExactly listOf(1L, 255, 256, 257, 1000, 4096, 300)
                buffers.forEachIndexed { i, buffer -> buffer.memory.fill((i + 1).toByte()) }
                buffers.forEachIndexed { i, buffer ->
                    buffer.memory.toArray(JAVA_BYTE).toSet() shouldBe
                        setOf((i + 1).toByte())
                }
                pool.taken shouldBe 7
                pool.available shouldBe 16.KiB - (3 * 256 + 2 * 512 + 1024 + 4096)
                buffers.forEach { it.close() }
                pool.taken shouldBe 0
                pool.available shouldBe 16.KiB
            }
        }

        test("should refuse slices outside the buffer") {
            withPool(slabs = 1) { pool ->
                pool.take(256).use { first ->
                    pool.take(300 - 100).use { buffer ->
                        buffer.slice().length() shouldBe 200
                        buffer.slice(50).address() shouldBe buffer.memory.address() + 50
                        buffer.slice(50).length() shouldBe 150
                        buffer.slice(0, 10).length() shouldBe 10
                        buffer.slice().address() shouldNotBe first.slice().address()
                        shouldThrow<IndexOutOfBoundsException> { buffer.slice(100, 101) }.message shouldContain
                            "buffer of 200 bytes"
                        shouldThrow<IndexOutOfBoundsException> { buffer.slice(-1, 1) }
                    }
                }
            }
        }

        test("should register memory only when it is needed, up to its limit") {
            onDevice { pd ->
                Diagnostics.enable()
                try {
                    val pool = pd.bufferPool { maxBytes(3.MiB + 5) }
                    val registered = { Diagnostics.openResources().count { "memory region" in it.resource.describe() } }
                    registered() shouldBe 0
                    pool.tryTake(1).shouldNotBeNull().close()
                    registered() shouldBe 1
                    val all = generateSequence { pool.tryTake(1.MiB) }.toList()
                    all.shouldHaveSize(3)
                    all.forEach { it.close() }
                    registered() shouldBe 3
                    pool.close()
                    registered() shouldBe 0
                } finally {
                    Diagnostics.disable()
                }
            }
        }

        test("should refuse sizes that it cannot have") {
            withPool(slabs = 1) { pool ->
                shouldThrow<IllegalArgumentException> { pool.take(4097) }.message.let {
                    it shouldContain "4097"
                    it shouldContain "maxBufferSize(4096)"
                }
                shouldThrow<IllegalArgumentException> { pool.tryTake(0) }
                shouldThrow<IllegalArgumentException> { pool.take(-1) }
            }
        }

        test("should refuse settings that exclude each other") {
            onDevice { pd ->
                fun refusal(block: BufferPoolBuilder.() -> Unit) =
                    shouldThrow<IllegalArgumentException> { pd.bufferPool(block) }.message

                refusal {
                    minBufferSize(4096)
                    maxBufferSize(1024)
                } shouldContain "minBufferSize(4096) is above maxBufferSize(1024)"
                refusal { maxBufferSize(2.MiB) } shouldContain "maxBufferSize(2097152) is above slabSize(1048576)"
                refusal { maxBytes(1000) } shouldContain "slabSize(1048576) is above maxBytes(1000)"
                refusal { minBufferSize(100) } shouldContain "minBufferSize(100) isn't a power of two"
                refusal { slabSize(0) } shouldContain "slabSize(0)"
            }
        }

        test("should have the device's keys and access") {
            onDevice { pd ->
                val pool = pd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
                pool.tryTake(10).shouldNotBeNull().use {
                    it.slice().region().access() shouldBe setOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
                    it.slice().lkey() shouldBe it.slice().region().lkey()
                }
            }
        }

        test("should serve callers in the order of their calls") {
            withPool(slabs = 1) { pool ->
                val held = List(4) { pool.take(1024) }
                val order = mutableListOf<Int>()
                val waiters =
                    List(8) { i ->
                        launch(start = CoroutineStart.UNDISPATCHED) {
                            pool.take(1024).use {
                                order += i
                                yield()
                            }
                        }
                    }
                pool.waiting shouldBe 8
                held[2].close()
                pool.tryTake(1024).shouldBeNull()
                waiters.forEach { it.join() }
                order shouldContainExactly (0..7).toList()
                held.forEach { it.close() }
            }
        }

        test("should cut a slab for another size when no buffer of it is lent") {
            withPool(slabs = 1) { pool ->
                List(16) { pool.take(256) }.forEach { it.close() }
                pool.take(4096).use { pool.tryTake(256).shouldBeNull() }
                List(2) { pool.take(2048) }.forEach { it.close() }
            }
        }

        test("should not starve a large request by small ones that never stop") {
            withPool(slabs = 2) { pool ->
                val small = ArrayDeque(List(20) { pool.take(256) })
                val large = taking(pool, 4096)
                var rounds = 0
                while (!large.isCompleted) {
                    check(++rounds < 1000) { "the large request starves" }
                    small.removeFirst().close()
                    pool.tryTake(256)?.let { small.addLast(it) }
                    yield()
                }
                large.await().memory.byteSize() shouldBe 4096
                small.shouldHaveSize(16)
                large.await().close()
                small.forEach { it.close() }
            }
        }

        test("should not starve a small request by large ones") {
            withPool(slabs = 1) { pool ->
                val first = pool.take(4096)
                val small = taking(pool, 256)
                val large = List(3) { taking(pool, 4096) }
                first.close()
                small.await().close()
                large.forEach { it.await().close() }
            }
        }

        test("should give a small buffer to a caller with a large one while others wait for large ones") {
            withPool(slabs = 2) { pool ->
                val large = pool.take(4096)
                val small = pool.take(256)
                val other = taking(pool, 4096)
                pool.take(256).close()
                small.close()
                large.close()
                other.await().close()
            }
        }

        test("should lend from a slab again when the waiter that it was drained for is cancelled") {
            withPool(slabs = 1) { pool ->
                val small = pool.take(256)
                val large = taking(pool, 4096)
                pool.tryTake(256).shouldBeNull()
                val next = taking(pool, 256)
                next.isCompleted shouldBe false
                large.cancelAndJoin()
                next.await().close()
                small.close()
                pool.take(4096).close()
            }
        }

        test("should lose nothing to a caller that is cancelled while it waits, or as it is served") {
            withPool(slabs = 1) { pool ->
                val held = pool.take(4096)
                val gone = taking(pool, 4096)
                val served = taking(pool, 4096)
                val last = taking(pool, 4096)
                gone.cancelAndJoin()
                held.close() // resumes the second, which is cancelled before it runs
                served.cancelAndJoin()
                last.await().close()
                pool.taken shouldBe 0
                pool.waiting shouldBe 0
            }
        }

        test("should ignore a second close, even when another caller has the memory") {
            withPool(slabs = 1) { pool ->
                val first = pool.take(4096)
                first.close()
                val second = pool.take(4096)
                first.close()
                pool.taken shouldBe 1
                second.memory.set(JAVA_LONG, 0, 7)
                shouldThrow<IllegalStateException> { first.memory }.message shouldContain
                    "buffer of 4096 bytes at 0 in slab 0"
                shouldThrow<IllegalStateException> { first.slice() }
                shouldThrow<IllegalStateException> { first.pin() }
                second.close()
            }
        }

        test("should tell where a buffer was closed and where leaked buffers were taken") {
            onDevice { pd ->
                Diagnostics.enable()
                try {
                    val pool = pd.bufferPool()
                    val closed = pool.tryTake(10).shouldNotBeNull().apply { close() }
                    val cause = shouldThrow<IllegalStateException> { closed.memory }.cause.shouldNotBeNull()
                    cause.message shouldContain "closed here"
                    cause.stackTrace.count { "BufferPoolSpec" in it.className } shouldNotBe 0
                    val forgotten = pool.tryTake(20).shouldNotBeNull()
                    val leak = shouldThrow<IllegalStateException> { pool.close() }
                    leak.message shouldContain "1 buffers of the buffer pool on embedded0"
                    leak.suppressed.map { it.message!! }.single() shouldContain "buffer of 20 bytes"
                    forgotten.memory.set(JAVA_BYTE, 0, 1)
                    pool.close()
                    forgotten.close()
                    Diagnostics.openResources().filter { "memory region" in it.resource.describe() }.shouldBeEmpty()
                } finally {
                    Diagnostics.disable()
                }
            }
        }

        test("should end the waits when the pool or its protection domain is closed") {
            for (closeDomain in listOf(false, true)) {
                onDevice { pd ->
                    val pool = pd.bufferPool { maxBytes(1.MiB) }
                    val held = pool.tryTake(1.MiB).shouldNotBeNull()
                    runBlocking {
                        val waiter = async(start = CoroutineStart.UNDISPATCHED) { runCatching { pool.take(10) } }
                        if (closeDomain) pd.close() else shouldThrow<IllegalStateException> { pool.close() }
                        val failure = waiter.await().exceptionOrNull()
                        shouldThrow<IllegalStateException> { throw failure.shouldNotBeNull() }.message shouldContain
                            "closed"
                    }
                    shouldThrow<IllegalStateException> { pool.tryTake(10) }
                    held.close()
                    pool.taken shouldBe 0
                }
            }
        }

        test("should keep a closed buffer from others until the last work request on it has completed") {
            withPool(slabs = 1) { pool ->
                val buffer = pool.take(4096)
                val memory = buffer.memory
                memory.fill(0x55)
                buffer.pin()
                buffer.pin()
                buffer.close()
                val next = taking(pool, 4096)
                buffer.unpin()
                yield()
                next.isCompleted shouldBe false
                pool.taken shouldBe 1
                shouldThrow<IllegalStateException> { buffer.pin() }
                memory.toArray(JAVA_BYTE).toSet() shouldBe setOf<Byte>(0x55)
                buffer.unpin()
                next.await().use { it.memory.fill(0x66) }
                memory.get(JAVA_BYTE, 0) shouldBe 0x66 // it was the same memory
                pool.taken shouldBe 0
            }
        }

        test("should survive 10,000 coroutines that fill their buffers and are cancelled at random") {
            withPool(slabs = 16) { pool ->
                val painted = AtomicInteger()
                val random = Random(42)
                withContext(Dispatchers.Default) {
                    val jobs =
                        List(10_000) { i ->
                            val size = 1L shl random.nextInt(0, 13)
                            val yields = random.nextInt(4)
                            launch {
                                pool.take(size).use { buffer ->
                                    val color = i.toByte()
                                    buffer.memory.fill(color)
                                    buffer.pin()
                                    try {
                                        if (yields == 3) delay(1) else repeat(yields) { yield() }
                                        check(
                                            buffer.memory.toArray(JAVA_BYTE).all { it == color },
                                        ) { "another wrote into the $buffer" }
                                    } finally {
                                        buffer.unpin()
                                    }
                                    painted.incrementAndGet()
                                }
                            }
                        }
                    repeat(3000) { jobs[random.nextInt(jobs.size)].cancel() }
                    jobs.forEach { it.join() }
                }
                check(painted.get() >= 7000) { "only ${painted.get()} of 10000 had their turn" }
                pool.waiting shouldBe 0
                pool.taken shouldBe 0
            }
        }

        test("should report its figures in total and by size") {
            withPool(slabs = 2) { pool ->
                pool.stats shouldBe
                    BufferPoolStats(
                        8192,
                        0,
                        0,
                        0,
                        0,
                        listOf(256L, 512, 1024, 2048, 4096).map { BufferSizeStats(it, 0, 0, 0) },
                    )
                val small = List(2) { pool.take(200) }
                val large = pool.take(4096)
                val waiting = taking(pool, 1000)
                val now = pool.stats
                now.copy(sizes = emptyList()) shouldBe BufferPoolStats(8192, 8192, 4608, 3, 1, emptyList())
                now.sizes.associate {
                    it.size to listOf(it.registered, it.taken.toLong(), it.waiting.toLong())
                } shouldBe
                    mapOf(
                        256L to listOf(16L, 2L, 0L),
                        512L to listOf(0L, 0L, 0L),
                        1024L to listOf(0L, 0L, 1L),
                        2048L to listOf(0L, 0L, 0L),
                        4096L to listOf(1L, 1L, 0L),
                    )
                large.close()
                waiting.await().close()
                small.forEach { it.close() }
                pool.stats.copy(sizes = emptyList()) shouldBe BufferPoolStats(8192, 8192, 0, 0, 0, emptyList())
            }
        }
    })
