package org.kverbs.embedded.internal.verbs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.FuzzLink
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.transport.Inside
import org.kverbs.internal.abi.IbvQpInitAttr
import org.kverbs.internal.abi.IbvQpType
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout
import java.util.Random

class ClosedDeviceSpec :
    FunSpec({
        test("should keep no queue pair, key or timer of a program that closed only the device") {
            val engine = Engine(true)
            val hca = Hca("device", 1, engine, Gids(0, 0xffff_c612_0001), 4096, Random(1))
            hca.connect(FuzzLink { _, _ -> false })
            val inside = Inside(hca)
            val context = EmbeddedContext.open(hca).context().shouldNotBeNull()
            Arena.ofConfined().use { arena ->
                val pd = context.allocPd()
                val cq = context.createCompletionQueue(4, 0, 0)
                val init = arena.allocate(IbvQpInitAttr.SIZE.toLong(), 8)
                init.set(ValueLayout.JAVA_LONG, IbvQpInitAttr.SEND_CQ.toLong(), cq)
                init.set(ValueLayout.JAVA_LONG, IbvQpInitAttr.RECV_CQ.toLong(), cq)
                init.set(ValueLayout.JAVA_INT, IbvQpInitAttr.QP_TYPE.toLong(), IbvQpType.IBV_QPT_UD)
                val qp = context.createQueuePair(pd, init)
                qp shouldBeGreaterThan 0
                val group = arena.allocate(16)
                group.set(ValueLayout.JAVA_BYTE, 0, 0xff.toByte())
                context.attachMulticast(qp, group, 0) shouldBe 0
                context.registerMemory(pd, arena.allocate(64).address(), 64, 0, 0) shouldBeGreaterThan 0
                context.allocMemoryWindow(pd, 1) shouldBeGreaterThan 0
            }
            (inside.queuePairs to inside.keys) shouldBe (1 to 2)
            context.close() shouldBe 0
            (inside.queuePairs to inside.keys) shouldBe (0 to 0)
            engine.scheduled() shouldBe 0
        }
    })
