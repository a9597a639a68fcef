package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.attributes.Gid
import org.kverbs.management.agent.ReceivedNotice
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.MCJoinState
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.MKeyProtectBits
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NoticeTrap257
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.structures.copy
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

private fun managed() =
    simulatedFabric {
        fatTree(4)
        subnetManager("H-3")
    }

/** A collector that starts undispatched listens when `async` returns. */
class TrapsSpec :
    FunSpec({
        test("should tell a program at the manager's port which switch has lost a link") {
            managed().test { simulation ->
                simulation.fabric("H-3").use { fabric ->
                    withContext(Dispatchers.Default) {
                        val notice = async(start = UNDISPATCHED) { fabric.traps().first() }
                        simulation.unplug("S-5", 1)
                        val received = withTimeout(20.seconds) { notice.await() }
                        received.trap?.value shouldBe 128
                        received.notice.issuerLID shouldBe simulation.port("S-5").use { it.port().info.lid }
                    }
                }
            }
        }

        test("should report traps to a subscriber, until it ends") {
            managed().test { simulation ->
                simulation.fabric("H-9").use { fabric ->
                    withContext(Dispatchers.Default) {
                        val notice = async { fabric.informs().first() }
                        while (fabric.sa.records<InformInfoRecord>().isEmpty()) delay(10.milliseconds)
                        simulation.unplug("S-1", 1)
                        withTimeout(20.seconds) { notice.await() }.trap?.value shouldBe 128
                        fabric.sa.records<InformInfoRecord>() shouldBe emptyList()
                    }
                }
            }
        }

        test("should report the ports and the multicast groups that come and go") {
            managed().test { simulation ->
                val leaving = simulation.port("H-1").use { Gid(0xfe80L shl 48, it.port().node.portGUID.value) }
                val own = simulation.port("H-9").use { Gid(0xfe80L shl 48, it.port().node.portGUID.value) }
                val group = Gid.parse("ff12:401b:ffff::1234")
                simulation.fabric("H-9").use { fabric ->
                    withContext(Dispatchers.Default) {
                        val seen = Channel<ReceivedNotice>(Channel.UNLIMITED)
                        val listening = launch { fabric.informs().collect { seen.send(it) } }
                        while (fabric.sa.records<InformInfoRecord>().isEmpty()) delay(10.milliseconds)

                        suspend fun gidOf(trap: TrapNumber) =
                            withTimeout(20.seconds) {
                                var notice = seen.receive()
                                while (notice.trap != trap) notice = seen.receive()
                                notice.details?.get("gidAddr")
                            }
                        simulation.powerOff("H-1")
                        simulation.sweep()
                        gidOf(TrapNumber.GID_OUT_OF_SERVICE) shouldBe leaving
                        simulation.powerOn("H-1")
                        simulation.sweep()
                        gidOf(TrapNumber.GID_IN_SERVICE) shouldBe leaving
                        val member =
                            MCMemberRecord.query {
                                mgid = group
                                portGID = own
                                qKey = 0xb1b
                                pKey = 0xffff
                                tClass = 0
                                sl = 0
                                flowLabel = 0
                                joinState = MCJoinState.FULL_MEMBER
                            }
                        fabric.sa.set(member)
                        gidOf(TrapNumber.MGID_CREATED) shouldBe group
                        fabric.sa.delete(member)
                        gidOf(TrapNumber.MGID_DESTROYED) shouldBe group
                        listening.cancelAndJoin()
                    }
                }
            }
        }

        test("should protect a port by its key, and tell the manager of a wrong one") {
            managed().test { simulation ->
                simulation.fabric("H-3").use { manager ->
                    val path = directed(0, 1)
                    val info = manager.get<PortInfo>(path, 0)
                    val secret =
                        info.copy {
                            mKey = 77
                            mKeyProtectBits = MKeyProtectBits.of(2)
                            portState = PortState.NO_CHANGE
                        }
                    withContext(Dispatchers.Default) {
                        manager.set(path, secret)
                        val notice = async(start = UNDISPATCHED) { manager.traps().first() }
                        simulation
                            .fabric("H-1") {
                                retries(0)
                                timeout(50.milliseconds)
                            }.use { stranger ->
                                shouldThrow<MadTimeoutException> { stranger.get<NodeInfo>(lid(info.lid.value)) }
                            }
                        withTimeout(20.seconds) { notice.await() }.trap?.value shouldBe 256
                    }
                    simulation.fabric("H-1") { mKey(77) }.use { owner ->
                        owner.get<PortInfo>(lid(info.lid.value), 0).mKeyViolations shouldBe 1
                    }
                }
            }
        }

        test(
            "should have a port send any trap that a test asks for, with the details of the port or with those given",
        ) {
            managed().test { simulation ->
                simulation.fabric("H-3").use { fabric ->
                    withContext(Dispatchers.Default) {
                        val seen = Channel<ReceivedNotice>(Channel.UNLIMITED)
                        val listening =
                            launch(start = UNDISPATCHED) { fabric.traps().collect { seen.send(it) } }
                        val switch = simulation.port("S-1").use { it.port().info.lid }
                        for (number in 129..131) {
                            simulation.trap("S-1", 3, TrapNumber.of(number))
                            val notice = withTimeout(20.seconds) { seen.receive() }
                            notice.trap?.value shouldBe number
                            notice.notice.type shouldBe NoticeType.URGENT
                            notice.notice.issuerLID shouldBe switch
                            notice.details?.get("lidAddr") shouldBe switch
                            notice.details?.get("portNo") shouldBe 3L
                        }
                        simulation.trap("H-1", 1, TrapNumber.SYSTEM_IMAGE_GUID_CHANGED)
                        withTimeout(20.seconds) { seen.receive() }.details?.get("systemImageGUID") shouldBe
                            simulation.port("H-1").use { it.port().node.systemImageGUID }
                        simulation.trap("H-1", 1, TrapNumber.BAD_PKEY, NoticeTrap257 { key = 0x8001 })
                        val security = withTimeout(20.seconds) { seen.receive() }
                        security.notice.type shouldBe NoticeType.SECURITY
                        security.details?.get("key") shouldBe 0x8001L
                        shouldThrow<IllegalArgumentException> { simulation.trap("H-1", 1, TrapNumber.BAD_QKEY) }
                            .message shouldContain "BAD_QKEY"
                        val wrong = NoticeTrap257 { key = 0x8001 }
                        shouldThrow<IllegalArgumentException> {
                            simulation.trap("H-1", 1, TrapNumber.LINK_STATE_CHANGED, wrong)
                        }.message shouldContain "another structure: NoticeTrap128, not NoticeTrap257"
                        listening.cancelAndJoin()
                    }
                }
            }
        }

        test("should refuse the trap of a port that has no subnet manager") {
            simulatedFabric { fatTree(2) }.test { simulation ->
                shouldThrow<IllegalStateException> { simulation.trap("S-1", 1, TrapNumber.LINK_STATE_CHANGED) }
                    .message shouldContain "subnetManager()"
            }
        }
    })
