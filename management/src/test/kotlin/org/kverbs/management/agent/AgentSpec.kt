package org.kverbs.management.agent

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.withTimeout
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.lid
import org.kverbs.management.rmpp.Wire
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.Notice
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.management.structures.NoticeTrap128
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ServedClass
import org.kverbs.management.transport.VENDOR
import org.kverbs.management.transport.vendorRequest
import org.kverbs.structures.Lid
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

private fun TestScope.over(
    end: MadTransport,
    configure: FabricBuilder.() -> Unit = {},
): Fabric =
    fabric(end) {
        context(backgroundScope.coroutineContext)
        configure()
    }

private fun linkDown(at: Int) =
    NoticeSMP {
        isGeneric = true
        type = NoticeType.URGENT
        producerTypeVendorID = 2
        trapNumberDeviceID = TrapNumber.LINK_STATE_CHANGED.value
        issuerLID = Lid(at)
        NoticeTrap128 { lidAddr = Lid(at) }.bytes().let { dataDetails = it }
    }

class AgentSpec :
    FunSpec({
        test("should answer a class, and leave the others alone") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val client = over(wire.first) { retries(0) }
                val serving =
                    server.serve(ManagementClass.PERF) { request ->
                        request.answer(PortCounters { portSelect = request.value(PortCounters).portSelect + 1 })
                    }
                client.get<PortCounters>(lid(2)) { portSelect = 3 }.portSelect shouldBe 4
                shouldThrow<IllegalStateException> { server.serve(ManagementClass.PERF) { } }
                serving.close()
                shouldThrow<MadTimeoutException> { client.get<PortCounters>(lid(2)) }
                server.counters[MadEventKind.UNEXPECTED] shouldBe 1
                server.counters[MadEventKind.REQUESTED] shouldBe 1
                server.counters[MadEventKind.ANSWERED] shouldBe 1
            }
        }

        test("should serve the methods that it was told, and leave the others to another handler") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val client = over(wire.first) { retries(0) }
                val get = ServedClass(ManagementClass.PERF, methods = setOf(Method.GET))
                val set = ServedClass(ManagementClass.PERF, methods = setOf(Method.SET))
                server.serve(get) { it.answer(PortCounters { portSelect = 1 }) }
                client.get<PortCounters>(lid(2)).portSelect shouldBe 1
                shouldThrow<MadTimeoutException> { client.set(lid(2), PortCounters()) }
                server.serve(set) { it.answer(PortCounters { portSelect = 2 }) }
                client.set(lid(2), PortCounters()).portSelect shouldBe 2
                client.get<PortCounters>(lid(2)).portSelect shouldBe 1
                shouldThrow<IllegalStateException> { server.serve(ManagementClass.PERF) { } }
            }
        }

        test("should not confirm the trap of a class whose notices nobody can read") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val watching = launch { server.traps(ManagementClass.of(0x10)).collect {} }
                delay(1)
                val trap = ByteArray(256)
                trap[0] = 1
                trap[1] = 0x10
                trap[2] = 1
                trap[3] = Method.TRAP.value.toByte()
                trap[17] = 2
                wire.second.deliver(trap, lid(1))
                delay(1.seconds)
                wire.packets.shouldBeEmpty()
                watching.cancelAndJoin()
            }
        }

        test("should hand the time limit of a handler to the thread's handler of uncaught exceptions") {
            val thrown = CompletableDeferred<Throwable>()
            val before = Thread.getDefaultUncaughtExceptionHandler()
            Thread.setDefaultUncaughtExceptionHandler { _, e -> thrown.complete(e) }
            try {
                runTest {
                    val wire = Wire(backgroundScope)
                    val server = over(wire.second)
                    server.serve(ManagementClass.PERF) { withTimeout(10.milliseconds) { delay(1.minutes) } }
                    shouldThrow<MadTimeoutException> { over(wire.first) { retries(0) }.get<PortCounters>(lid(2)) }
                }
                thrown.await().shouldBeInstanceOf<TimeoutCancellationException>()
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before)
            }
        }

        test("should answer Set with one record in a datagram") {
            runTest {
                val wire = Wire(backgroundScope)
                over(wire.second).serve(ManagementClass.SUBN_ADM) { it.answerRecords(listOf(ServiceRecord())) }
                over(wire.first).sa.set(ServiceRecord.query { })
                wire.packets.size shouldBe 2
            }
        }

        test("should name to the transport what it serves and watches, and no longer than it does") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val serving = server.serve(ManagementClass.SUBN_ADM) { }
                wire.second.served shouldBe listOf(ServedClass(ManagementClass.SUBN_ADM))
                wire.second.served.single().classVersion shouldBe 2
                serving.close()
                wire.second.served.shouldBeEmpty()
                val watching = launch { server.traps(ManagementClass.BM).collect {} }
                delay(1)
                wire.second.served shouldBe listOf(ServedClass(ManagementClass.BM, methods = setOf(Method.TRAP)))
                watching.cancelAndJoin()
                wire.second.served.shouldBeEmpty()
            }
        }

        test("should not serve a class that another program serves") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                wire.second.taken += ManagementClass.PERF
                shouldThrow<MadTransportException> { server.serve(ManagementClass.PERF) { } }
                shouldThrow<MadTransportException> { server.traps(ManagementClass.PERF).collect {} }
                wire.second.taken.clear()
                server.serve(ManagementClass.PERF) { it.answer(PortCounters()) }
                over(wire.first).get<PortCounters>(lid(2))
            }
        }

        test("should give a request to the program of its vendor, or to the one of all") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val asked = mutableListOf<String>()
                for (vendor in listOf(0x001405, 0)) {
                    server.serve(ServedClass(VENDOR, vendor)) { request ->
                        asked += "$vendor"
                        request.answerLong(ByteArray(0))
                    }
                }
                MadTransactor(wire.first, context = backgroundScope.coroutineContext).use { client ->
                    client.transact(vendorRequest(), lid(2), 1.seconds, 0)
                    client.transact(vendorRequest().also { it[38] = 1 }, lid(2), 1.seconds, 0)
                }
                asked shouldBe listOf("${0x001405}", "0")
                shouldThrow<IllegalStateException> { server.serve(ServedClass(VENDOR, 0x001405)) { } }
                shouldThrow<IllegalArgumentException> { ServedClass(ManagementClass.PERF, vendor = 1) }
                shouldThrow<IllegalArgumentException> { ServedClass(VENDOR, vendor = 1 shl 24) }
            }
        }

        test("should refuse with a status, and refuse what a handler cannot read") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val client = over(wire.first)
                server.serve(ManagementClass.PERF) { request ->
                    if (request.modifier == 1L) require(request.modifier == 0L)
                    request.refuse(MADStatusInvalidField.METHOD_NOT_SUPPORTED)
                }
                shouldThrow<MadStatusException> { client.get<PortCounters>(lid(2)) }.message shouldContain
                    "METHOD_NOT_SUPPORTED(2)"
                shouldThrow<MadStatusException> { client.get<PortCounters>(lid(2), 1) }.message shouldContain
                    "INVALID_ATTRIBUTE_OR_MODIFIER(7)"
            }
        }

        test("should handle a request once that is repeated while a handler works on it") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val client = over(wire.first)
                var handled = 0
                server.serve(ManagementClass.PERF) { request ->
                    handled++
                    delay(2500)
                    request.answer(PortCounters())
                    shouldThrow<IllegalStateException> { request.answer(PortCounters()) }
                }
                client.get<PortCounters>(lid(2))
                handled shouldBe 1
            }
        }

        test("should drop requests beyond 256 at once rather than keep them") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val client = over(wire.first) { outstanding(1000) }
                var most = 0
                var now = 0
                server.serve(ManagementClass.PERF) { request ->
                    most = maxOf(most, ++now)
                    delay(100)
                    now--
                    request.answer(PortCounters())
                }
                List(600) { async { client.get<PortCounters>(lid(2)) } }.forEach { it.await() }
                most shouldBe 256
            }
        }

        test("should answer a class while another one has 256 handlers that hang") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                var hanging = 0
                server.serve(ManagementClass.PERF) {
                    hanging++
                    awaitCancellation()
                }
                server.serve(ManagementClass.OPENIB_PING) { it.answer(OpenIBPing { hostName = "here" }) }
                val client =
                    over(wire.first) {
                        retries(0)
                        outstanding(400)
                    }
                val lost = List(300) { launch { runCatching { client.get<PortCounters>(lid(2)) { portSelect = 1 } } } }
                while (hanging < 256) delay(1)
                client.get<OpenIBPing>(lid(2)).hostName shouldBe "here"
                lost.joinAll()
            }
        }

        test("should hand a trap to each watcher once, and stop its sender") {
            runTest {
                val wire = Wire(backgroundScope, doubling = 1)
                val manager = over(wire.second)
                val port = over(wire.first)
                val watching = List(2) { async { manager.traps().take(2).toList() } }
                delay(1)
                port.trap(lid(2), linkDown(7))
                port.trap(lid(2), linkDown(8))
                for (notices in watching) {
                    notices.await().map { it.describe() } shouldContainExactly
                        listOf(7, 8).map {
                            "URGENT(1) LINK_STATE_CHANGED(128) from LID $it: NoticeTrap128(lidAddr=$it)"
                        }
                }
            }
        }

        test("should confirm no trap that its watcher has no room for, so that its sender repeats it") {
            runTest {
                val room = 1024
                val wire = Wire(backgroundScope)
                val manager = over(wire.second)
                val port = over(wire.first) { retries(0) }
                val goOn = CompletableDeferred<Unit>()
                val watching = async { manager.traps().onEach { goOn.await() }.take(room + 2).toList() }

                suspend fun isConfirmed(from: Int) =
                    runCatching { port.trap(lid(2), linkDown(from)) }
                        .onFailure { if (it !is MadTimeoutException) throw it }
                        .isSuccess
                delay(1)
                // The first one is with the watcher, and the others wait.
                List(room + 5) { isConfirmed(1 + it) }.count { it } shouldBe room + 1
                goOn.complete(Unit)
                isConfirmed(room + 5) shouldBe true
                watching.await().size shouldBe room + 2
            }
        }

        test("should not confirm a trap that nobody watches, and end a flow when the fabric is closed") {
            runTest {
                val wire = Wire(backgroundScope)
                val manager = over(wire.second)
                val port = over(wire.first) { retries(1) }
                shouldThrow<MadTimeoutException> { port.trap(lid(2), linkDown(7)) }
                val watching = async { manager.traps().toList() }
                delay(1.seconds)
                manager.close()
                watching.await().shouldBeEmpty()
                manager.traps().toList().shouldBeEmpty()
            }
        }

        test("should subscribe while reports are collected, and end the subscription with the collector") {
            runTest {
                val wire = Wire(backgroundScope)
                val manager = over(wire.second)
                val port = over(wire.first)
                val subscriptions = mutableListOf<Int>()
                manager.serve(ManagementClass.SUBN_ADM) { request ->
                    val info = request.value(InformInfo)
                    subscriptions += info.subscribe
                    info.trapNumberDeviceID shouldBe 64
                    request.method shouldBe Method.SET
                    request.answer(info)
                }
                val watching = async { port.informs { trapNumberDeviceID = 64 }.first() }
                delay(1.seconds)
                subscriptions shouldBe listOf(1)
                manager.report(
                    lid(1),
                    Notice {
                        isGeneric = true
                        trapNumberDeviceID = 65
                    },
                )
                manager.report(
                    lid(1),
                    Notice {
                        isGeneric = true
                        trapNumberDeviceID = 64
                    },
                )
                watching.await().notice.trapNumberDeviceID shouldBe 64
                subscriptions shouldBe listOf(1, 0)
            }
        }

        test("should let a client and a server of one port work side by side") {
            runTest {
                val wire = Wire(backgroundScope)
                val both = listOf(over(wire.first), over(wire.second))
                both.forEach { one -> one.serve(ManagementClass.PERF) { it.answer(PortCounters { portSelect = 9 }) } }
                val answers =
                    List(
                        100,
                    ) { async { both[it % 2].get<PortCounters>(lid(2 - it % 2)).portSelect } }.map { it.await() }
                answers.distinct() shouldBe listOf(9)
            }
        }

        test("should leave nothing behind when it is closed while handlers and watchers wait") {
            runTest {
                val wire = Wire(backgroundScope)
                val server = over(wire.second)
                val client = over(wire.first) { retries(0) }
                var isCancelled = false
                server.serve(ManagementClass.PERF) {
                    try {
                        delay(1.minutes)
                    } finally {
                        isCancelled = true
                    }
                }
                launch { runCatching { client.get<PortCounters>(lid(2)) } }
                delay(1.seconds)
                server.close()
                delay(1.seconds)
                isCancelled shouldBe true
                shouldThrow<IllegalStateException> { server.serve(ManagementClass.PERF) { } }
            }
        }
    })
