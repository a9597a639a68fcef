package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AccessFlag
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.FakeConnectionManager
import org.kverbs.cm.PortSpace
import org.kverbs.internal.abi.Errno
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.ref.WeakReference
import java.nio.ByteBuffer

/** Open resources live until they are closed, with every reference of the program gone and after real collections. */
class ReachabilitySpec :
    FunSpec({
        onNullDevice()

        test("should collect what nothing refers to, so that the tests below mean something") {
            val dropped = WeakReference(Any())
            collectGarbage()
            dropped.get() shouldBe null
        }

        test("should keep registered memory until the region is closed, although the program dropped the context") {
            val dropped = registeredAndDropped()
            collectGarbage()
            withClue("the device still has both regions") { NullVerbs.live(NullVerbs.Kind.MR) shouldBe 2 }
            // booleans: a local variable with the memory itself would keep it reachable below
            withClue("direct buffer") { dropped.buffer.isThere() shouldBe true }
            withClue("memory of an automatic arena") { dropped.arena.isThere() shouldBe true }
            dropped.context
                .get()
                .shouldNotBeNull()
                .close()
            collectGarbage()
            withClue("after the close") {
                listOf(dropped.buffer, dropped.arena, dropped.context).map { it.isThere() } shouldBe List(3) { false }
            }
        }

        test("should keep both memories of a region that could not be moved, since the device may have either") {
            NullBench().use { bench ->
                val (from, to, region) = failedMove(bench)
                collectGarbage()
                listOf(from, to).map { it.isThere() } shouldBe listOf(true, true)
                region.close()
            }
        }

        test("should keep an action for a resource's close until it is taken back, and run the others in their order") {
            NullBench().use { bench ->
                val ran = mutableListOf<Int>()
                val left = mutableListOf<WeakReference<*>>()
                bench.pd.whenClosed { ran += 1 }
                repeat(3) { left += takenBack(bench.pd, ran) }
                val twice = bench.pd.whenClosed { ran += 2 }
                bench.pd.whenClosed { ran += 3 }
                repeat(2) { twice.run() }
                val kept =
                    Any().let { used ->
                        bench.pd.whenClosed { check(used !== ran) }
                        WeakReference(used)
                    }
                collectGarbage()
                left.map { it.isThere() } shouldBe List(3) { false }
                kept.isThere() shouldBe true
                bench.pd.close()
                ran shouldBe listOf(1, 3)
                bench.pd.whenClosed { ran += 4 }.run()
                ran shouldBe listOf(1, 3, 4)
            }
        }

        test("should run an action of a close that takes others back, and those which were not taken back in time") {
            NullBench().use { bench ->
                val ran = mutableListOf<Int>()
                lateinit var second: Runnable
                val first =
                    bench.pd.whenClosed {
                        ran += 1
                        second.run()
                    }
                second = bench.pd.whenClosed { ran += 2 }
                bench.pd.close()
                first.run()
                ran shouldBe listOf(1, 2)
            }
        }

        test("should keep an event channel and its ids until they are closed") {
            val manager = FakeConnectionManager()
            val (channel, id) = channelAndId(manager)
            collectGarbage()
            id.isThere() shouldBe true
            channel.get().shouldNotBeNull().close()
            manager.live shouldBe emptySet()
            collectGarbage()
            listOf(channel, id).map { it.isThere() } shouldBe listOf(false, false)
        }
    })

private fun WeakReference<*>.isThere() = get() != null

private class Dropped(
    val buffer: WeakReference<ByteBuffer>,
    val arena: WeakReference<MemorySegment.Scope>,
    val context: WeakReference<Context>,
)

private fun registeredAndDropped(): Dropped {
    val context = NullVerbs.open()
    val pd = context.protectionDomain()
    val buffer = ByteBuffer.allocateDirect(1 shl 16)
    val arena = Arena.ofAuto()
    pd.register(buffer, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
    pd.register(arena.allocate(1 shl 16), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
    return Dropped(WeakReference(buffer), WeakReference(arena.scope()), WeakReference(context))
}

private typealias Held = WeakReference<MemorySegment.Scope>

private fun failedMove(bench: NullBench): Triple<Held, Held, MemoryRegion> {
    val from = Arena.ofAuto()
    val to = Arena.ofAuto()
    val region = bench.pd.register(from.allocate(64), AccessFlag.LOCAL_WRITE)
    NullVerbs.set(NullVerbs.Option.REFUSE_MOVE, Errno.ENOMEM)
    shouldThrow<RdmaSystemException> { region.reregister(to.allocate(64)) }
    return Triple(WeakReference(from.scope()), WeakReference(to.scope()), region)
}

/** Adds an action and takes it back; returns what only the action refers to. */
private fun takenBack(
    resource: Resource,
    ran: MutableList<Int>,
): WeakReference<*> {
    val used = Any()
    resource
        .whenClosed {
            ran += -1
            check(used !== ran)
        }.run()
    return WeakReference(used)
}

private fun channelAndId(
    manager: FakeConnectionManager,
): Pair<WeakReference<ConnectionEventChannel>, WeakReference<ConnectionId>> {
    val channel = manager.open()
    return WeakReference(channel) to WeakReference(channel.id(PortSpace.TCP))
}

/**
 * Collects until an object that was dropped before is gone, and once more: a first collection may only queue what a
 * cleaner frees.
 */
private fun collectGarbage() {
    repeat(3) {
        val witness = WeakReference(Any())
        while (witness.get() != null) System.gc()
    }
}
