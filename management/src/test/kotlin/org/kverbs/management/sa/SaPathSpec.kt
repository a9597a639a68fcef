package org.kverbs.management.sa

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairState
import org.kverbs.dsl.RC
import org.kverbs.dsl.await
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.endpoint
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.send
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PathRecord
import org.kverbs.structures.Lid
import org.kverbs.testkit.leakCheck
import kotlin.time.Duration.Companion.nanoseconds

private val here = Gid.parse("fe80::1")
private val there = Gid.parse("fec0::2")

private fun record(assign: PathRecord.() -> Unit = {}) =
    PathRecord {
        sgid = here
        dgid = there
        slid = Lid(8)
        dlid = Lid(9)
        sl = 3
        pKey = 0x8001
        mtu = MTU.MTU_1024
        packetLifeTime = 18
        assign()
    }

private fun global() =
    SaPath(
        record {
            hopLimit = 5
            flowLabel = 0x12345
            tClass = 7
        },
    )

/** A queue pair on a device of its own, with its memory. */
private class Side(
    val context: Context,
) {
    private val pd = context.protectionDomain()
    val cq = context.completionQueue { entries(4) }
    val qp = pd.qp(RC) { cq(cq) }
    val region = pd.memoryRegion(64) { access(AccessFlag.LOCAL_WRITE) }
    val gid: Gid = context.queryGid(1, context.defaultGidIndex(1))
}

private fun twoSides(block: (Side, Side) -> Unit) =
    leakCheck {
        EmbeddedFabric.realTime(7).use { network ->
            val contexts = List(2) { network.addDevice().open() }
            try {
                block(Side(contexts[0]), Side(contexts[1]))
            } finally {
                contexts.forEach { it.close() }
            }
        }
    }

class SaPathSpec :
    FunSpec({
        test("should have no global route inside of the subnet") {
            val path = SaPath(record())
            path.isGlobal shouldBe false
            path.path.globalRoute.shouldBeNull()
            "$path" shouldBe "Path 8 -> 9 SL=3 PKey=0x8001 DQPN=1 MTU=1024 rate=${path.rate} life=1.073741824s"
        }

        test("should lead beyond the subnet by a global route") {
            global().path.globalRoute shouldBe GlobalRoute(there, 0x12345, 0, 5, 7)
        }

        test("should reverse LIDs and GIDs, and give the way back the longest hop limit") {
            val back = global().reverse()
            back.source shouldBe there
            back.path.destination shouldBe Lid(8)
            back.path.source shouldBe Lid(9)
            back.path.globalRoute shouldBe GlobalRoute(here, 0x12345, 0, 255, 7)
            back.path.serviceLevel shouldBe 3
            SaPath(record()).reverse().path.globalRoute.shouldBeNull()
        }

        test("should give an answer the life time there and back and the peer's time") {
            val path = SaPath(record())
            path.answerTime(0) shouldBe (4096L * (1 shl 19) + 4096).nanoseconds
            path.answerTime() shouldBe (4096L * ((1 shl 19) + (1 shl 20))).nanoseconds
            shouldThrow<IllegalArgumentException> { path.answerTime(32) }.message shouldContain "not 32"
        }

        test("should bring queue pairs up by a path and its reverse, and carry a message") {
            twoSides { near, far ->
                val path =
                    SaPath(
                        record {
                            sgid = near.gid
                            dgid = far.gid
                            pKey = 0xffff
                            tClass = 9
                            packetLifeTime = 20
                        },
                    )
                near.qp.connect(far.qp.endpoint(), path) { retryCount(3) }
                far.qp.connect(near.qp.endpoint(), path.reverse())
                val attributes = near.qp.queuePair.query()
                attributes.state() shouldBe QueuePairState.RTS
                attributes.pathMtu() shouldBe Mtu.ofBytes(1024)
                attributes.timeout() shouldBe 21
                attributes.retryCount() shouldBe 3
                attributes.address().serviceLevel() shouldBe 3
                attributes.address().globalRoute()?.trafficClass() shouldBe 9
                near.region.memory().setString(0, "by a path")
                far.qp.postReceive(into = far.region[0, 64])
                near.qp.post { send(near.region[0, 64]) }
                far.cq.await().single().orThrow()
                far.region.memory().getString(0) shouldBe "by a path"
            }
        }

        test("should keep an acknowledgement timeout that is longer than the path's") {
            twoSides { near, far ->
                val path =
                    SaPath(
                        record {
                            sgid = near.gid
                            dgid = far.gid
                            pKey = 0xffff
                            packetLifeTime = 2
                        },
                    )
                near.qp.connect(far.qp.endpoint(), path)
                near.qp.queuePair.query().timeout() shouldBe ConnectOptions.DEFAULTS.timeout()
            }
        }

        test("should refuse a path that begins at another port") {
            twoSides { near, far ->
                val path = SaPath(record { pKey = 0xffff })
                shouldThrow<IllegalArgumentException> { near.qp.connect(far.qp.endpoint(), path) }.message shouldContain
                    "the path begins at fe80::1, which is no GID of"
                near.qp.queuePair.state() shouldBe QueuePairState.RESET
            }
        }
    })
