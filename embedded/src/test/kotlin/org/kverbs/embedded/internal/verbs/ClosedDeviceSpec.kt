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
import org.kverbs.internal.abi.IbvCqAttrMask
import org.kverbs.internal.abi.IbvModifyCqAttr
import org.kverbs.internal.abi.IbvQp
import org.kverbs.internal.abi.IbvQpAttr
import org.kverbs.internal.abi.IbvQpAttrMask
import org.kverbs.internal.abi.IbvQpInitAttr
import org.kverbs.internal.abi.IbvQpInitAttrEx
import org.kverbs.internal.abi.IbvQpInitAttrMask
import org.kverbs.internal.abi.IbvQpOpenAttr
import org.kverbs.internal.abi.IbvQpOpenAttrMask
import org.kverbs.internal.abi.IbvQpState
import org.kverbs.internal.abi.IbvQpType
import org.kverbs.internal.abi.IbvRecvWr
import org.kverbs.internal.abi.OpenFlags
import org.kverbs.internal.memory.Memory
import org.kverbs.spi.VerbsContext
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout
import java.lang.ref.WeakReference
import java.nio.file.Files
import java.util.Random

/** Registers memory in a context, gives its receiving queue pair of XRC to another context, and closes it. */
private fun makeAndClose(
    hca: Hca,
    user: VerbsContext,
): WeakReference<Any> {
    val maker = EmbeddedContext.open(hca).context().shouldNotBeNull()
    val file = Files.createTempFile("xrc", "domain")
    Arena.ofConfined().use { arena ->
        val init = arena.allocate(IbvQpInitAttrEx.SIZE.toLong(), 8)
        init.set(ValueLayout.JAVA_INT, IbvQpInitAttrEx.QP_TYPE.toLong(), IbvQpType.IBV_QPT_XRC_RECV)
        init.set(ValueLayout.JAVA_INT, IbvQpInitAttrEx.COMP_MASK.toLong(), IbvQpInitAttrMask.IBV_QP_INIT_ATTR_XRCD)
        val domain = maker.xrc().openDomain(file, OpenFlags.O_CREAT)
        init.set(ValueLayout.JAVA_LONG, IbvQpInitAttrEx.XRCD.toLong(), domain)
        val qp = maker.createQueuePairEx(init)
        val open = arena.allocate(IbvQpOpenAttr.SIZE.toLong(), 8)
        open.set(ValueLayout.JAVA_INT, IbvQpOpenAttr.QP_TYPE.toLong(), IbvQpType.IBV_QPT_XRC_RECV)
        open.set(
            ValueLayout.JAVA_INT,
            IbvQpOpenAttr.COMP_MASK.toLong(),
            IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_NUM or IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_XRCD or
                IbvQpOpenAttrMask.IBV_QP_OPEN_ATTR_TYPE,
        )
        open.set(ValueLayout.JAVA_INT, IbvQpOpenAttr.QP_NUM.toLong(), Memory.getInt(qp + IbvQp.QP_NUM))
        open.set(ValueLayout.JAVA_LONG, IbvQpOpenAttr.XRCD.toLong(), user.xrc().openDomain(file, OpenFlags.O_CREAT))
        val opened = user.xrc().openQueuePair(open)
        opened shouldBeGreaterThan 0
    }
    Files.delete(file)
    val memory = Arena.ofAuto().allocate(4096)
    maker.registerMemory(maker.allocPd(), memory, memory.address(), 0) shouldBeGreaterThan 0
    maker.close() shouldBe 0
    return WeakReference(memory.scope())
}

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

        test("should end the timers of moderated completion queues") {
            val engine = Engine(true)
            val hca = Hca("device", 1, engine, Gids(0, 0xffff_c612_0001), 4096, Random(1))
            hca.connect(FuzzLink { _, _ -> false })
            val context = EmbeddedContext.open(hca).context().shouldNotBeNull()
            Arena.ofConfined().use { arena ->
                val cq = context.createCompletionQueue(4, context.createCompletionChannel(), 0)
                val moderation = arena.allocate(IbvModifyCqAttr.SIZE.toLong(), 8)
                val mask = IbvCqAttrMask.IBV_CQ_ATTR_MODERATE
                moderation.set(ValueLayout.JAVA_INT, IbvModifyCqAttr.ATTR_MASK.toLong(), mask)
                moderation.set(ValueLayout.JAVA_SHORT, IbvModifyCqAttr.MODERATE_CQ_COUNT.toLong(), 4.toShort())
                moderation.set(ValueLayout.JAVA_SHORT, IbvModifyCqAttr.MODERATE_CQ_PERIOD.toLong(), 50.toShort())
                context.modifyCompletionQueue(cq, moderation) shouldBe 0
                context.completionQueueOps(cq).requestNotify(false) shouldBe 0
                val init = arena.allocate(IbvQpInitAttr.SIZE.toLong(), 8)
                init.set(ValueLayout.JAVA_LONG, IbvQpInitAttr.SEND_CQ.toLong(), cq)
                init.set(ValueLayout.JAVA_LONG, IbvQpInitAttr.RECV_CQ.toLong(), cq)
                init.set(ValueLayout.JAVA_INT, IbvQpInitAttr.CAP_MAX_RECV_WR.toLong(), 1)
                init.set(ValueLayout.JAVA_INT, IbvQpInitAttr.QP_TYPE.toLong(), IbvQpType.IBV_QPT_UD)
                val qp = context.createQueuePair(context.allocPd(), init)
                val state = arena.allocate(IbvQpAttr.SIZE.toLong(), 8)
                val known = IbvQpAttrMask.IBV_QP_PKEY_INDEX or IbvQpAttrMask.IBV_QP_PORT or IbvQpAttrMask.IBV_QP_QKEY
                state.set(ValueLayout.JAVA_BYTE, IbvQpAttr.PORT_NUM.toLong(), 1)
                state.set(ValueLayout.JAVA_INT, IbvQpAttr.QP_STATE.toLong(), IbvQpState.IBV_QPS_INIT)
                context.modifyQueuePair(qp, state, IbvQpAttrMask.IBV_QP_STATE or known) shouldBe 0
                state.set(ValueLayout.JAVA_INT, IbvQpAttr.QP_STATE.toLong(), IbvQpState.IBV_QPS_ERR)
                context.modifyQueuePair(qp, state, IbvQpAttrMask.IBV_QP_STATE) shouldBe 0
                val flushed = arena.allocate(IbvRecvWr.SIZE.toLong(), 8)
                context.queuePairOps(qp).postReceive(flushed.address(), arena.allocate(8).address()) shouldBe 0
            }
            engine.scheduled() shouldBe 1
            context.close() shouldBe 0
            engine.scheduled() shouldBe 0
        }

        test("should let go of a closed context although others keep its queue pair") {
            val engine = Engine(true)
            val hca = Hca("device", 1, engine, Gids(0, 0xffff_c612_0001), 4096, Random(1))
            hca.connect(FuzzLink { _, _ -> false })
            val inside = Inside(hca)
            val user = EmbeddedContext.open(hca).context().shouldNotBeNull()
            val memory = makeAndClose(hca, user)
            inside.queuePairs shouldBe 1
            var tries = 0
            while (memory.get() != null && tries++ < 100) {
                System.gc()
                Thread.sleep(20)
            }
            memory.get() shouldBe null
            user.close() shouldBe 0
            inside.queuePairs shouldBe 0
        }
    })
