package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.datatest.withTests
import io.kotest.engine.names.WithDataTestName
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.maps.shouldNotBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.AtomicCapability
import org.kverbs.attributes.GidType
import org.kverbs.attributes.LinkLayer
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.MigrationState
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.NodeType
import org.kverbs.attributes.PortState
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.StaticRate
import org.kverbs.attributes.TransportType
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.PortSpace
import org.kverbs.internal.abi.IbvAtomicCap
import org.kverbs.internal.abi.IbvEventType
import org.kverbs.internal.abi.IbvForkStatus
import org.kverbs.internal.abi.IbvGidType
import org.kverbs.internal.abi.IbvLinkLayer
import org.kverbs.internal.abi.IbvMigState
import org.kverbs.internal.abi.IbvMtu
import org.kverbs.internal.abi.IbvMwType
import org.kverbs.internal.abi.IbvNodeType
import org.kverbs.internal.abi.IbvPortState
import org.kverbs.internal.abi.IbvQpState
import org.kverbs.internal.abi.IbvQpType
import org.kverbs.internal.abi.IbvRate
import org.kverbs.internal.abi.IbvTransportType
import org.kverbs.internal.abi.IbvWcOpcode
import org.kverbs.internal.abi.IbvWcStatus
import org.kverbs.internal.abi.RdmaCmEventType
import org.kverbs.internal.abi.RdmaPortSpace

/** A public enum and the generated class that holds the numbers of the C enum. */
private class Mirror(
    val ours: List<Enum<*>>,
    val numbers: Class<*>,
    val prefix: String,
    val code: (Enum<*>) -> Int,
    val of: (Int) -> Enum<*>,
) : WithDataTestName {
    /** Returns the C name of a constant. */
    fun cName(constant: Enum<*>): String =
        when (constant) {
            is StaticRate if constant != StaticRate.MAX -> "${prefix}${constant.name.removePrefix("GBPS_")}_GBPS"
            else -> prefix + constant.name
        }

    override fun dataTestName(): String =
        ours
            .first()
            .declaringJavaClass.simpleName
}

private inline fun <reified E : Enum<E>> mirror(
    numbers: Class<*>,
    prefix: String,
    noinline code: (E) -> Int,
    noinline of: (Int) -> E,
) = Mirror(enumValues<E>().toList(), numbers, prefix, { code(it as E) }, of)

/** The constants that only newer headers have. */
private val newer =
    mapOf(
        "IBV_EVENT_DEVICE_SPEED_CHANGE" to 20,
        "IBV_WC_FLUSH" to 8,
        "RDMA_CM_EVENT_ADDRINFO_RESOLVED" to 16,
        "RDMA_CM_EVENT_ADDRINFO_ERROR" to 17,
        "RDMA_CM_EVENT_USER" to 18,
    )

class EnumsSpec :
    FunSpec({
        val mirrors =
            listOf(
                mirror(IbvNodeType::class.java, "IBV_NODE_", NodeType::code, NodeType::of),
                mirror(IbvTransportType::class.java, "IBV_TRANSPORT_", TransportType::code, TransportType::of),
                mirror(IbvPortState::class.java, "IBV_PORT_", PortState::code, PortState::of),
                mirror(IbvLinkLayer::class.java, "IBV_LINK_LAYER_", LinkLayer::code, LinkLayer::of),
                mirror(IbvMtu::class.java, "IBV_", Mtu::code, Mtu::of),
                mirror(IbvAtomicCap::class.java, "IBV_ATOMIC_", AtomicCapability::code, AtomicCapability::of),
                mirror(IbvGidType::class.java, "IBV_GID_TYPE_", GidType::code, GidType::of),
                mirror(IbvEventType::class.java, "IBV_EVENT_", AsyncEventType::code, AsyncEventType::of),
                mirror(IbvWcStatus::class.java, "IBV_WC_", WorkCompletionStatus::code, WorkCompletionStatus::of),
                mirror(IbvWcOpcode::class.java, "IBV_WC_", WorkCompletionOpcode::code, WorkCompletionOpcode::of),
                mirror(IbvQpType::class.java, "IBV_QPT_", QueuePairType::code, QueuePairType::of),
                mirror(IbvQpState::class.java, "IBV_QPS_", QueuePairState::code, QueuePairState::of),
                mirror(IbvMigState::class.java, "IBV_MIG_", MigrationState::code, MigrationState::of),
                mirror(IbvMwType::class.java, "IBV_MW_", MemoryWindowType::code, MemoryWindowType::of),
                mirror(IbvForkStatus::class.java, "IBV_FORK_", ForkStatus::code, ForkStatus::of),
                mirror(IbvRate::class.java, "IBV_RATE_", StaticRate::code, StaticRate::of),
                mirror(
                    RdmaCmEventType::class.java,
                    "RDMA_CM_EVENT_",
                    ConnectionEventType::code,
                    ConnectionEventType::of,
                ),
                mirror(RdmaPortSpace::class.java, "RDMA_PS_", PortSpace::code, PortSpace::of),
            )

        context("should have exactly the constants and numbers of C") {
            withTests(mirrors) { mirror ->
                val ofC = constantsOf(mirror.numbers).filterKeys { !it.endsWith("_UNKNOWN") }
                ofC.shouldNotBeEmpty()
                val ofOurs =
                    mirror.ours.filter { it.name != "UNKNOWN" }.associate {
                        mirror.cName(it) to
                            mirror.code(it).toLong()
                    }
                ofOurs shouldBe ofC + newer.filterKeys { it in ofOurs }.mapValues { it.value.toLong() }
            }
        }

        context("should return each constant for its number and UNKNOWN for any other") {
            withTests(mirrors) { mirror ->
                val known = mirror.ours.associateBy { mirror.code(it) }
                for (number in -2..400) {
                    val expected = known[number]?.name ?: "UNKNOWN"
                    withClue("of($number)") { mirror.of(number).name shouldBe expected }
                }
                mirror.of(Int.MIN_VALUE).name shouldBe "UNKNOWN"
                mirror.of(Int.MAX_VALUE).name shouldBe "UNKNOWN"
                mirror.code(mirror.ours.single { it.name == "UNKNOWN" }) shouldBe -1
            }
        }

        test("should know the bytes of each MTU") {
            Mtu.entries.map { it.bytes() } shouldContainExactly listOf(256, 512, 1024, 2048, 4096, 0)
            listOf(256, 512, 1024, 2048, 4096).map { Mtu.ofBytes(it) } shouldContainExactly Mtu.entries - Mtu.UNKNOWN
        }

        test("should name the allowed sizes when asked for an MTU that does not exist") {
            for (bytes in listOf(0, 1500, -1, 8192)) {
                shouldThrow<IllegalArgumentException> { Mtu.ofBytes(bytes) }.message shouldBe
                    "an MTU of $bytes bytes does not exist: use 256, 512, 1024, 2048 or 4096"
            }
        }

        test("should tell events that are errors from those that are news") {
            AsyncEventType.entries.filter { it.isError } shouldContainExactlyInAnyOrder
                listOf(
                    AsyncEventType.CQ_ERR,
                    AsyncEventType.QP_FATAL,
                    AsyncEventType.QP_REQ_ERR,
                    AsyncEventType.QP_ACCESS_ERR,
                    AsyncEventType.PATH_MIG_ERR,
                    AsyncEventType.DEVICE_FATAL,
                    AsyncEventType.PORT_ERR,
                    AsyncEventType.SRQ_ERR,
                    AsyncEventType.WQ_FATAL,
                )
        }

        test("should tell receives by the bit that C tells them by") {
            WorkCompletionOpcode.entries.filter { it.isReceive }.map { it.code() } shouldContainExactly
                (128..137).toList()
        }

        test("should describe every completion status in words of its own") {
            val texts = WorkCompletionStatus.entries.map { it.text() }
            texts.distinct().size shouldBe texts.size
            WorkCompletionStatus.RNR_RETRY_EXC_ERR.text() shouldContain "no receive posted"
        }
    })

/** Returns the numbers that a generated class holds, by their C names. */
internal fun constantsOf(type: Class<*>): Map<String, Long> =
    type.declaredFields
        .filter { it.type == Int::class.java || it.type == Long::class.java }
        .associate { it.name to (it.get(null) as Number).toLong() }
