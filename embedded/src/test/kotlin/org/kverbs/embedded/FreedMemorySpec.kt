package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldBeSingleton
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldMatch
import org.kverbs.MemoryRegion
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.Feature
import org.kverbs.attributes.FlushPlacement
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.embedded.BufferMisuse.Kind.MEMORY_FREED
import java.lang.foreign.Arena
import java.time.Duration

/** Large enough that the system takes the memory back at once, so that a touch of it ends the JVM. */
private const val LARGE = 64L * 1024 * 1024

private val ALL =
    arrayOf(
        AccessFlag.LOCAL_WRITE,
        AccessFlag.REMOTE_READ,
        AccessFlag.REMOTE_WRITE,
        AccessFlag.REMOTE_ATOMIC,
        AccessFlag.MW_BIND,
        AccessFlag.FLUSH_GLOBAL,
    )

/**
 * Checks an arena that is closed before the regions of its memory: the device notices it when it needs the memory, and
 * does not touch it.
 */
class FreedMemorySpec :
    FunSpec({
        fun freed(
            end: End,
            use: (MemoryRegion) -> Unit = {},
        ): MemoryRegion = Arena.ofShared().use { arena -> end.pd.register(arena.allocate(LARGE), *ALL).also(use) }

        fun remotely(
            what: String,
            feature: Feature? = null,
            request: SendRequests.(End, MemoryRegion) -> SendRequests,
        ) = test("should refuse a peer that asks it to $what" + (feature?.let { ", as $it" } ?: "")) {
            Pair(EmbeddedFabric.virtual(1), features = setOfNotNull(feature)).use { pair ->
                val (a, b) = pair
                val seen = mutableListOf<BufferMisuse>()
                pair.fabric.diagnose(seen::add)
                val region = freed(b)
                a.post { request(a, region).signaled() }
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
                b.context.awaitAsyncEvent(Duration.ZERO)?.type() shouldBe AsyncEventType.QP_ACCESS_ERR
                seen.shouldBeSingleton { it.kind() shouldBe MEMORY_FREED }
                pair.fabric.misuses() shouldBe seen
                seen.single().toString() shouldMatch
                    Regex(
                        "the memory region at 0x[0-9a-f]+ of embedded1 was freed while it was registered," +
                            " and 8 bytes of it were to be $what \\(queue pair ${b.qp.number()}\\):" +
                            " close the memory region before the arena of its memory",
                    )
                region.close()
            }
        }

        remotely("written by a peer") { a, region -> write(1, region.remote()).from(a.mr.slice(0, 8)) }
        remotely("read by a peer") { a, region -> read(1, region.remote()).into(a.mr.slice(0, 8)) }
        remotely(
            "changed by a peer's atomic",
        ) { a, region -> fetchAndAdd(1, region.remote(), 5).into(a.mr.slice(0, 8)) }

        remotely("written by a peer", Feature.ATOMIC_WRITE) { _, region -> atomicWrite(1, region.remote(), 5) }
        remotely("flushed for a peer", Feature.FLUSH) { _, region ->
            flush(1, region.remote().slice(0, 8), FlushPlacement.GLOBAL)
        }

        test("should refuse to register memory of an arena that is closed already, and to move a region there") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, _) ->
                val gone = Arena.ofShared().use { it.allocate(LARGE) }
                shouldThrow<IllegalStateException> { a.pd.register(gone, *ALL) }.message shouldBe
                    "memory of a closed arena can't be registered; close the arena after the region"
                a.pd.register(a.mr.memory(), AccessFlag.LOCAL_WRITE).use { region ->
                    shouldThrow<IllegalStateException> { region.reregister(gone) }
                }
            }
        }

        test("should fail a request whose source is gone, with and without diagnostics") {
            listOf(true, false).forEach { diagnoses ->
                Pair(EmbeddedFabric.virtual(1)).use { pair ->
                    val (a, b) = pair
                    if (diagnoses) pair.fabric.diagnose {}
                    val region = freed(a)
                    a.post { write(1, b.mr.remote()).entry(region.address(), 64, region.lkey()) }
                    a.take(1).single().status() shouldBe LOC_PROT_ERR
                    pair.fabric.misuses().map { it.kind() } shouldBe listOf(MEMORY_FREED)
                    region.close()
                }
            }
        }

        test("should fail a receive whose memory is freed while it is posted, and the peer's send") {
            listOf(true, false).forEach { diagnoses ->
                Pair(EmbeddedFabric.virtual(1)).use { pair ->
                    val (a, b) = pair
                    if (diagnoses) pair.fabric.diagnose {}
                    val region = freed(b) { b.qp.postReceive(1, it.slice(0, 4096)) }
                    a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1).single().status() shouldBe REM_OP_ERR
                    b.take(1).single().status() shouldBe LOC_PROT_ERR
                    pair.fabric.misuses().map { it.kind() } shouldBe listOf(MEMORY_FREED)
                    region.close()
                }
            }
        }

        test("should refuse a peer's read whose memory is freed while the answer is in flight") {
            Pair(EmbeddedFabric.virtual(1), bytes = LARGE).use { pair ->
                val (a, b) = pair
                pair.fabric.setFaults(Faults.NONE.delay(Duration.ofMillis(1)))
                val region =
                    freed(b) {
                        a.post { read(1, it.remote()).into(a.mr.slice()).signaled() }
                        pair.fabric.clock().advance(Duration.ofMillis(3))
                    }
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
                region.close()
            }
        }

        test("should refuse a peer that uses a window") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                val window = b.pd.memoryWindow(MemoryWindowType.TYPE_2)
                val key = org.kverbs.MemoryWindow.nextRkey(window.rkey())
                val region =
                    freed(b) {
                        b.post { bind(1, window, key, it.slice(0, 64), AccessFlag.REMOTE_WRITE.bit()).signaled() }
                        b.take(1).single().status() shouldBe SUCCESS
                    }
                a.post { write(1, region.address(), key).inline(byteArrayOf(1)).signaled() }
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
                pair.fabric.misuses().map { it.kind() } shouldBe listOf(MEMORY_FREED)
                window.close()
                region.close()
            }
        }

        test("should report each region once, and use the region again after it moved to other memory") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                val region = freed(b)
                Arena.ofConfined().use { arena ->
                    region.reregister(arena.allocate(4096))
                    a.post { write(1, region.remote()).inline(byteArrayOf(7)).signaled() }
                    a.take(1).single().status() shouldBe SUCCESS
                    pair.fabric.misuses().shouldBeEmpty()
                    region.close()
                }
            }
        }
    })
