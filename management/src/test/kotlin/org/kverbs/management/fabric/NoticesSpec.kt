package org.kverbs.management.fabric

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import org.kverbs.management.agent.ReceivedNotice
import org.kverbs.management.simulation.SimulatedFabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.TrapNumber
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class NoticesSpec :
    FunSpec({
        fun managed() =
            simulatedFabric {
                fatTree(4, hosts = 4)
                subnetManager("H-1")
            }

        fun SimulatedFabric.event() = trap("S-1", 3, TrapNumber.LINK_INTEGRITY_THRESHOLD)

        suspend fun Fabric.subscriptions() = sa.records<InformInfoRecord>().size

        /** Waits until [count] subscriptions are at the administrator. */
        suspend fun Fabric.awaitSubscriptions(count: Int) =
            withTimeout(30.seconds) { while (subscriptions() != count) delay(10.milliseconds) }

        test("should go on with a subscription that another collector of the same has ended") {
            managed().use { simulation ->
                simulation.fabric("H-2").use { fabric ->
                    val seen = Channel<ReceivedNotice>(Channel.UNLIMITED)
                    val first = launch { fabric.informs().collect { } }
                    fabric.awaitSubscriptions(1)
                    val second = launch { fabric.informs().collect { seen.send(it) } }
                    // A collector is there when a report reaches it.
                    withTimeout(30.seconds) {
                        while (seen.tryReceive().isFailure) {
                            simulation.event()
                            delay(10.milliseconds)
                        }
                    }
                    first.cancelAndJoin()
                    fabric.subscriptions() shouldBe 1
                    while (seen.tryReceive().isSuccess) Unit
                    simulation.event()
                    withTimeout(30.seconds) { seen.receive() }
                    second.cancelAndJoin()
                    fabric.subscriptions() shouldBe 0
                }
            }
        }

        test("should return traps to the collectors of traps, and no reports of another's subscription") {
            managed().use { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val traps = ArrayList<ReceivedNotice>()
                    val reports = ArrayList<ReceivedNotice>()

                    suspend fun collect(
                        flow: Flow<ReceivedNotice>,
                        to: MutableList<ReceivedNotice>,
                    ) = flow.collect { to += it }
                    val all =
                        listOf(launch { collect(fabric.traps(), traps) }, launch { collect(fabric.informs(), reports) })
                    fabric.awaitSubscriptions(1)
                    simulation.event()
                    withTimeout(30.seconds) { while (traps.isEmpty() || reports.isEmpty()) delay(10.milliseconds) }
                    delay(100.milliseconds)
                    all.forEach { it.cancelAndJoin() }
                    traps.map { it.mgmtClass } shouldBe listOf(ManagementClass.SUBN_LID_ROUTED)
                    reports.map { it.mgmtClass } shouldBe listOf(ManagementClass.SUBN_ADM)
                }
            }
        }

        test("should return to each collector what its own filter asks for, whatever others subscribe to") {
            managed().use { simulation ->
                simulation.fabric("H-2").use { fabric ->
                    val own = fabric.port().info.lid
                    val all = Channel<ReceivedNotice>(Channel.UNLIMITED)
                    val ofThis = ArrayList<ReceivedNotice>()
                    val jobs =
                        listOf(
                            launch { fabric.informs().collect { all.send(it) } },
                            launch {
                                fabric
                                    .informs {
                                        lidRangeBegin = own
                                        lidRangeEnd = own
                                    }.collect { ofThis += it }
                            },
                        )
                    fabric.awaitSubscriptions(2)
                    simulation.event()
                    withTimeout(30.seconds) { all.receive() }.notice.issuerLID shouldNotBe own
                    simulation.trap("H-2", 1, TrapNumber.LINK_INTEGRITY_THRESHOLD)
                    withTimeout(30.seconds) { while (ofThis.isEmpty()) delay(10.milliseconds) }
                    ofThis.map { it.notice.issuerLID }.distinct() shouldBe listOf(own)
                    jobs.forEach { it.cancelAndJoin() }
                }
            }
        }

        test("should leave no subscription behind when a collector is cancelled before the administrator answers") {
            managed().use { simulation ->
                simulation.fabric("H-2").use { fabric ->
                    simulation.faults { delay(300.milliseconds) }
                    val job = launch { fabric.informs().collect { } }
                    delay(100.milliseconds)
                    job.cancelAndJoin()
                    simulation.faults { clear() }
                    // What was on its way has arrived by now.
                    delay(1.seconds)
                    fabric.sa.records<InformInfoRecord>().shouldBeEmpty()
                }
            }
        }

        test("should have nobody left when collectors have ended") {
            managed().use { simulation ->
                simulation.fabric("H-2").use { fabric ->
                    val jobs = List(3) { launch { fabric.informs().take(1).toList() shouldHaveSize 1 } }
                    fabric.awaitSubscriptions(1)
                    withTimeout(30.seconds) {
                        while (jobs.any { it.isActive }) {
                            simulation.event()
                            delay(10.milliseconds)
                        }
                    }
                    fabric.sa.records<InformInfoRecord>().shouldBeEmpty()
                }
            }
        }
    })
