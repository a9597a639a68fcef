package org.kverbs.embedded.internal.verbs

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.internal.Refusal
import org.kverbs.internal.abi.Errno
import org.kverbs.internal.abi.IbvFlowAttr
import org.kverbs.internal.abi.IbvFlowAttrType
import org.kverbs.internal.abi.IbvFlowFlags
import org.kverbs.internal.abi.IbvFlowSpecType
import org.kverbs.internal.abi.IbvQpInitAttr
import org.kverbs.internal.abi.IbvQpType
import org.kverbs.spi.VerbsContext
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import kotlin.random.Random

private const val NO = -Errno.EINVAL.toLong()
private const val LACKS = -Errno.EOPNOTSUPP.toLong()

/** Checks flow rules at the seam, where a caller can write any bytes. */
internal class FlowReaderSpec :
    FunSpec({
        /** Runs a case with a context and a raw packet queue pair. */
        fun onQueuePair(case: Arena.(VerbsContext, Long) -> Unit) {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice()
                val context =
                    fabric
                        .provider()
                        .devices()
                        .single()
                        .open()
                        .context()
                        .shouldNotBeNull()
                Arena.ofConfined().use { arena ->
                    val cq = context.createCompletionQueue(8, 0, 0)
                    val init = arena.allocate(IbvQpInitAttr.SIZE.toLong(), 8)
                    init.set(ValueLayout.JAVA_LONG, IbvQpInitAttr.SEND_CQ.toLong(), cq)
                    init.set(ValueLayout.JAVA_LONG, IbvQpInitAttr.RECV_CQ.toLong(), cq)
                    init.set(ValueLayout.JAVA_INT, IbvQpInitAttr.QP_TYPE.toLong(), IbvQpType.IBV_QPT_RAW_PACKET)
                    case(arena, context, context.createQueuePair(context.allocPd(), init))
                }
                context.close() shouldBe 0
                Refusal.forget()
            }
        }

        test("should refuse sizes and counts that lie, and parts that are not known") {
            onQueuePair { context, qp ->
                fun made(attributes: MemorySegment): Long =
                    context.flows().createFlow(qp, attributes).also {
                        if (it > 0) context.flows().destroyFlow(it) shouldBe 0
                    }
                made(rule()) shouldBeGreaterThan 0
                made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_UDP, 16))) shouldBeGreaterThan 0
                withClue("a segment that ends in the first structure") { made(rule().asSlice(0, 19)) shouldBe NO }
                withClue("a size beyond the segment") { made(rule(size = 21)) shouldBe NO }
                withClue("a size within the first structure") { made(rule(size = 19)) shouldBe NO }
                withClue("more parts than bytes") { made(rule(count = 1)) shouldBe NO }
                withClue("too many parts") {
                    made(rule(*Array(11) { part(IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_DROP, 8) })) shouldBe NO
                }
                withClue("a part that is too long for its type") {
                    made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_UDP, 24))) shouldBe NO
                }
                withClue("a part of no bytes") {
                    made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_UDP, 16, 0))) shouldBe NO
                }
                withClue("a part beyond the end") {
                    made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_UDP, 16, 17))) shouldBe NO
                }
                withClue("counters that are none") {
                    made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_COUNT, 16))) shouldBe NO
                }
                made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_ESP, 24))) shouldBeGreaterThan 0
                withClue("an action that is none") {
                    made(rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_HANDLE, 16))) shouldBe NO
                }
                withClue("a default rule with matches") {
                    made(
                        rule(part(IbvFlowSpecType.IBV_FLOW_SPEC_UDP, 16), type = IbvFlowAttrType.IBV_FLOW_ATTR_SNIFFER),
                    ) shouldBe NO
                }
                withClue("a type that is none") { made(rule(type = 4)) shouldBe NO }
                withClue("flags that are none") { made(rule(flags = 8)) shouldBe NO }
                withClue("frames that leave") {
                    made(rule(flags = IbvFlowFlags.IBV_FLOW_ATTR_FLAGS_EGRESS)) shouldBe LACKS
                }
                val unknown =
                    listOf(
                        IbvFlowSpecType.IBV_FLOW_SPEC_GRE,
                        IbvFlowSpecType.IBV_FLOW_SPEC_MPLS,
                        IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_TAG,
                        IbvFlowSpecType.IBV_FLOW_SPEC_VXLAN_TUNNEL or IbvFlowSpecType.IBV_FLOW_SPEC_INNER,
                        0x7777,
                    )
                for (type in unknown) {
                    withClue("type 0x${type.toString(16)}") { made(rule(part(type, 24))) shouldBe LACKS }
                }
            }
        }

        test("should take any bytes for a rule or refuse them, and destroy what it made") {
            val random = Random(7)
            onQueuePair { context, qp ->
                repeat(20_000) {
                    Arena.ofConfined().use { arena ->
                        val rule = arena.rule(arena.part(0x20, 40), arena.part(0x30, 24), arena.part(0x41, 16))
                        repeat(random.nextInt(6)) {
                            rule.set(ValueLayout.JAVA_BYTE, random.nextLong(rule.byteSize()), random.nextInt().toByte())
                        }
                        val made = context.flows().createFlow(qp, rule)
                        if (made > 0) context.flows().destroyFlow(made) shouldBe 0
                    }
                }
            }
        }

        test("should not destroy a queue pair or counters that rules use, nor what is not there") {
            onQueuePair { context, qp ->
                val counters = context.flowCounters().create(allocate(8))
                val count = part(IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_COUNT, 16)
                count.set(ValueLayout.JAVA_LONG, 8, counters)
                val flow = context.flows().createFlow(qp, rule(count))
                flow shouldBeGreaterThan 0
                context.destroyQueuePair(qp) shouldBe -Errno.EBUSY
                context.flowCounters().destroy(counters) shouldBe -Errno.EBUSY
                context.flows().destroyFlow(counters) shouldBe -Errno.EINVAL
                context.flows().destroyFlow(flow) shouldBe 0
                context.flows().destroyFlow(flow) shouldBe -Errno.EINVAL
                context.flowCounters().destroy(counters) shouldBe 0
                context.flowCounters().destroy(counters) shouldBe -Errno.EINVAL
                context.flowCounters().read(counters, allocate(8), 1, 0) shouldBe -Errno.EINVAL
                context.destroyQueuePair(qp) shouldBe 0
            }
        }

        test("should refuse counters of a flow, of an unknown kind, and at an index that is taken or too high") {
            onQueuePair { context, _ ->
                val counters = context.flowCounters().create(allocate(8))

                fun attached(
                    kind: Int,
                    index: Int,
                    flow: Long = 0,
                ): Int {
                    val point = allocate(12, 4)
                    point.set(ValueLayout.JAVA_INT, 0, kind)
                    point.set(ValueLayout.JAVA_INT, 4, index)
                    return context.flowCounters().attachToFlow(counters, point, flow)
                }
                attached(0, 31) shouldBe 0
                attached(1, 31) shouldBe -Errno.EINVAL
                attached(0, 32) shouldBe -Errno.EINVAL
                attached(0, -1) shouldBe -Errno.EINVAL
                attached(2, 0) shouldBe -Errno.EINVAL
                attached(0, 0, flow = 64) shouldBe -Errno.EOPNOTSUPP
                context.flowCounters().read(counters, allocate(256), 32, 2) shouldBe -Errno.EINVAL
            }
        }
    })

/** Makes a part of a rule. */
private fun Arena.part(
    type: Int,
    bytes: Int,
    size: Int = bytes,
): MemorySegment =
    allocate(bytes.toLong(), 8).also {
        it.set(ValueLayout.JAVA_INT, 0, type)
        it.set(ValueLayout.JAVA_SHORT, 4, size.toShort())
    }

/** Makes a rule of these parts, one behind the other. */
private fun Arena.rule(
    vararg parts: MemorySegment,
    type: Int = IbvFlowAttrType.IBV_FLOW_ATTR_NORMAL,
    flags: Int = 0,
    size: Int = IbvFlowAttr.SIZE + parts.sumOf { it.byteSize().toInt() },
    count: Int = parts.size,
): MemorySegment {
    val rule = allocate(IbvFlowAttr.SIZE + parts.sumOf { it.byteSize() }, 8)
    rule.set(ValueLayout.JAVA_INT, IbvFlowAttr.TYPE.toLong(), type)
    rule.set(ValueLayout.JAVA_SHORT, IbvFlowAttr.SIZE_FIELD.toLong(), size.toShort())
    rule.set(ValueLayout.JAVA_BYTE, IbvFlowAttr.NUM_OF_SPECS.toLong(), count.toByte())
    rule.set(ValueLayout.JAVA_BYTE, IbvFlowAttr.PORT.toLong(), 1)
    rule.set(ValueLayout.JAVA_INT, IbvFlowAttr.FLAGS.toLong(), flags)
    var at = IbvFlowAttr.SIZE.toLong()
    for (part in parts) {
        MemorySegment.copy(part, 0, rule, at, part.byteSize())
        at += part.byteSize()
    }
    return rule
}
