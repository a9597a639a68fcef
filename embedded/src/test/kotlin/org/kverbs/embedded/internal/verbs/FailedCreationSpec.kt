package org.kverbs.embedded.internal.verbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.FuzzLink
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.CompletionUser
import org.kverbs.embedded.internal.objects.Cq
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.internal.abi.IbvQpInitAttr
import org.kverbs.internal.abi.IbvQpType
import org.kverbs.spi.VerbsContext
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.util.Random

/** Draws numbers, or throws OutOfMemoryError. */
private class Scarce : Random(1) {
    var failing = false

    override fun nextInt() = if (failing) throw OutOfMemoryError("a test's own") else super.nextInt()
}

class FailedCreationSpec :
    FunSpec({
        test("should count neither a region or window whose creation threw, nor its bytes") {
            val random = Scarce()
            val limits = DeviceLimits.DEFAULTS.memoryRegions(2).lockedBytes(100)
            val hca = Hca("device", 1, Engine(true), Gids(0, 0xffff_c612_0001), 4096, random, Semantics.STRICT, limits)
            hca.connect(FuzzLink { _, _ -> false })
            repeat(2) {
                val context = EmbeddedContext.open(hca).context().shouldNotBeNull()
                Arena.ofConfined().use { arena ->
                    val pd = context.allocPd()
                    val memory = arena.allocate(50).address()
                    random.failing = true
                    repeat(3) {
                        shouldThrow<OutOfMemoryError> { context.registerMemory(pd, memory, 50, 0, 0) }
                        shouldThrow<OutOfMemoryError> { context.allocMemoryWindow(pd, 1) }
                    }
                    random.failing = false
                    repeat(2) {
                        context.registerMemory(pd, memory, 50, 0, 0) shouldBeGreaterThan 0
                        context.allocMemoryWindow(pd, 1) shouldBeGreaterThan 0
                    }
                }
                context.close() shouldBe 0
            }
        }

        test("should leave nothing of a queue pair whose creation threw") {
            val hca =
                Hca(
                    "device",
                    1,
                    Engine(true),
                    Gids(0, 0xffff_c612_0001),
                    4096,
                    Random(1),
                    Semantics.STRICT,
                    DeviceLimits.DEFAULTS.queuePairs(1),
                )
            hca.connect(FuzzLink { _, _ -> false })
            val context = EmbeddedContext.open(hca).context().shouldNotBeNull()
            Arena.ofConfined().use { arena ->
                val pd = context.allocPd()
                val cq = context.createCompletionQueue(8, 0, 0)
                val attributes = arena.allocate(IbvQpInitAttr.SIZE.toLong(), 8)
                attributes.set(JAVA_LONG, IbvQpInitAttr.SEND_CQ.toLong(), cq)
                attributes.set(JAVA_LONG, IbvQpInitAttr.RECV_CQ.toLong(), cq)
                attributes.set(JAVA_INT, IbvQpInitAttr.QP_TYPE.toLong(), IbvQpType.IBV_QPT_RC)
                val users = usersOf(context, cq)
                users.failing = true
                repeat(3) { shouldThrow<OutOfMemoryError> { context.createQueuePair(pd, attributes) } }
                hca.queuePairs.size() shouldBe 0
                users.failing = false
                val qp = context.createQueuePair(pd, attributes)
                qp shouldBeGreaterThan 0
                context.destroyQueuePair(qp) shouldBe 0
                context.deallocPd(pd) shouldBe 0
            }
            context.close() shouldBe 0
        }
    })

/** Holds the users of a completion queue, or throws OutOfMemoryError. */
private class ScarceUsers : LinkedHashSet<CompletionUser>() {
    var failing = false

    override fun add(element: CompletionUser) =
        if (failing) throw OutOfMemoryError("a test's own") else super.add(element)
}

/** Gives a completion queue such a set, by reflection. */
private fun usersOf(
    context: VerbsContext,
    cq: Long,
): ScarceUsers {
    val found = context.completionQueueOps(cq) as Cq
    val users = ScarceUsers()
    Cq::class.java.getDeclaredField("users").apply { isAccessible = true }.set(found, users)
    return users
}
