package org.kverbs.management.transport

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeout
import org.kverbs.Context
import org.kverbs.ProtectionDomain
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.ConnectOptions
import org.kverbs.dsl.UD
import org.kverbs.dsl.activate
import org.kverbs.dsl.await
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.destination
import org.kverbs.dsl.post
import org.kverbs.dsl.qp
import org.kverbs.dsl.send
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Errno.ENOMEM
import org.kverbs.embedded.Faults
import org.kverbs.embedded.Operation.CREATE_QUEUE_PAIR
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.fabric.udFabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.rmpp.RmppTransport
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortState
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.testkit.failNext
import org.kverbs.testkit.leakCheckSuspending
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

/** Two embedded devices, each with an open context. */
private class Two(
    val network: EmbeddedFabric,
) : AutoCloseable {
    val contexts: List<Context> = List(2) { network.addDevice().open() }
    private val domains = contexts.map { it.protectionDomain() }
    val near: ProtectionDomain get() = domains[0]
    val far: ProtectionDomain get() = domains[1]

    fun faults(faults: Faults) = network.setFaults(faults)

    override fun close() {
        contexts.forEach { it.close() }
        network.close()
    }
}

private suspend fun <T> two(block: suspend Two.() -> T) =
    leakCheckSuspending { Two(EmbeddedFabric.realTime(7)).use { it.block() } }

/** Hands what arrives to a channel. */
private class ToChannel(
    private val inbox: Channel<Pair<ByteArray, MadPath>>,
) : MadReceiver {
    override fun received(
        mad: ByteArray,
        back: MadPath?,
    ) {
        inbox.trySend(mad to checkNotNull(back))
    }

    override fun undelivered(mad: ByteArray) = Unit
}

private fun MadPath.isOf(transport: UdTransport) =
    (this as LidPath).destinationQueuePair == transport.endpoint.queuePairNumber()

/** Answers with as many bytes as the modifier says. */
private fun Fabric.echo() =
    serve(VENDOR) { request ->
        val data = vendorData(request.modifier.toInt(), request.method.value)
        request.answerLong(data)
    }

private suspend fun MadTransactor.ask(
    to: UdTransport,
    from: UdTransport,
    request: ByteArray,
) = transact(request, from.pathTo(to.endpoint), 30.seconds, 5)

class UdTransportSpec :
    FunSpec({
        test("should ask over a queue pair, and answer, in both directions at once") {
            two {
                val here = UdTransport.open(near)
                val there = UdTransport.open(far)
                fabric(here).use { one ->
                    fabric(there).use { other ->
                        one.serve(ManagementClass.PERF) { it.answer(PortCounters { portSelect = 1 }) }
                        other.serve(ManagementClass.PERF) { request ->
                            request.from.isOf(here) shouldBe true
                            request.answer(PortCounters { portSelect = 2 })
                        }
                        List(200) {
                            async {
                                val (asking, path) =
                                    if (it % 2 == 0) {
                                        one to here.pathTo(there.endpoint)
                                    } else {
                                        other to there.pathTo(here.endpoint)
                                    }
                                asking.get<PortCounters>(path).portSelect shouldBe 2 - it % 2
                            }
                        }.awaitAll()
                        one.port().info.portState shouldBe
                            PortState.ACTIVE
                        one.port().name shouldBe contexts[0].device().name()
                    }
                }
            }
        }

        for (size in listOf(256, 257, 4096, 65_536, 1 shl 20)) {
            test("should carry $size bytes there and back") {
                two {
                    val here = UdTransport.open(near)
                    val there = UdTransport.open(far)
                    fabric(there).use { server ->
                        server.serve(VENDOR) { request ->
                            request.answerLong(request.mad.copyOfRange(VENDOR_DATA, size).also { it.reverse() })
                        }
                        MadTransactor(here).use { client ->
                            val request = vendorRequest(size, if (size > MAD_SIZE) GET_MULTI else GET)
                            val answer = client.ask(there, here, request)
                            answer.vendorData().copyOf(size - VENDOR_DATA).reversedArray() shouldBe
                                request.vendorData()
                        }
                    }
                }
            }
        }

        for (seed in 1..3) {
            test("should carry messages whole over a line that loses, doubles and reorders (seed $seed)") {
                two {
                    faults(Faults.NONE.loss(0.02 * seed).duplication(0.05).reordering(0.1))
                    val here = UdTransport.open(near)
                    val there = UdTransport.open(far)
                    val settings = RmppSettings(timeout = 40.milliseconds, retries = 100)
                    fabric(there) { rmpp(settings) }.use { server ->
                        server.echo()
                        MadTransactor(here, rmpp = settings).use { client ->
                            List(8) { number ->
                                async {
                                    val wanted = 1 + number * 4001
                                    val request = vendorRequest(modifier = wanted)
                                    val path = here.pathTo(there.endpoint)
                                    val answer = client.transact(request, path, 500.milliseconds, 100)
                                    withClue("$wanted bytes") { answer.vendorData() shouldBe vendorData(wanted, GET) }
                                }
                            }.awaitAll()
                        }
                    }
                    network.faultsInjected() shouldBeGreaterThan 20
                }
            }
        }

        test("should tell apart the queue pairs of one port that number their transactions alike") {
            two {
                val inbox = Channel<Pair<ByteArray, MadPath>>(Channel.UNLIMITED)
                val there = UdTransport.open(far)
                val server = RmppTransport(there).also { it.receive(ToChannel(inbox)) }
                val clients = List(3) { UdTransport.open(near) }
                val senders = clients.map { client -> RmppTransport(client).also { it.receive(ToChannel(Channel())) } }
                senders.forEachIndexed { number, sender ->
                    val message = vendorRequest(20_000, GET_MULTI).also { it.fill(number.toByte(), VENDOR_DATA) }
                    sender.send(message, clients[number].pathTo(there.endpoint))
                }
                repeat(clients.size) {
                    val (message, from) = withTimeout(1.minutes) { inbox.receive() }
                    val bytes = message.vendorData().toSet()
                    val number = clients.indexOfFirst { from.isOf(it) }
                    withClue("what came from $from") { bytes shouldBe setOf(number.toByte()) }
                }
                (senders + server).forEach { it.close() }
            }
        }

        test("should lose what finds no room, and go on") {
            two {
                val here = UdTransport.open(near) { sends(2) }
                val there = UdTransport.open(far) { receives(2) }
                fabric(there).use { server ->
                    server.serve(ManagementClass.PERF) { it.answer(PortCounters()) }
                    fabric(here) {
                        outstanding(500)
                        timeout(100.milliseconds)
                        retries(1000)
                    }.use { client ->
                        List(500) {
                            async { client.get<PortCounters>(here.pathTo(there.endpoint)) }
                        }.awaitAll().size shouldBe 500
                    }
                }
            }
        }

        test("should count what is longer than a datagram, and go on") {
            two {
                val there = UdTransport.open(far)
                fabric(there).use { server ->
                    server.serve(ManagementClass.PERF) { it.answer(PortCounters()) }
                    val qkey = ConnectOptions.builder().qkey(there.endpoint.qkey()).build()
                    contexts[0].completionQueue { entries(8) }.use { cq ->
                        near.memoryRegion(4096).use { memory ->
                            near.qp(UD) { cq(cq) }.use { stranger ->
                                stranger.activate(qkey)
                                stranger.destination(there.endpoint, qkey).use { to ->
                                    for (length in listOf(1L, 255L, 257L, 1024L)) {
                                        stranger.post { send(memory.slice(0, length), to).signaled() }
                                        cq.await()
                                    }
                                }
                            }
                        }
                    }
                    val here = UdTransport.open(near)
                    fabric(here).use { it.get<PortCounters>(here.pathTo(there.endpoint)) }
                    server.counters[MadEventKind.MALFORMED] shouldBe 4
                }
            }
        }

        test("should not hear a queue pair with another key") {
            two {
                val there = UdTransport.open(far)
                val here = UdTransport.open(near) { queueKey(0x1234) }
                fabric(there).use { server ->
                    server.serve(ManagementClass.PERF) { it.answer(PortCounters()) }
                    fabric(here) {
                        timeout(50.milliseconds)
                        retries(2)
                    }.use { client ->
                        shouldThrow<MadTimeoutException> { client.get<PortCounters>(here.pathTo(there.endpoint)) }
                    }
                    server.counters[MadEventKind.REQUESTED] shouldBe 0
                }
            }
        }

        test("should keep few address handles, whatever number of peers there is") {
            two {
                val here = UdTransport.open(near) { addresses(3) }
                val there = UdTransport.open(far)
                MadTransactor(here).use { client ->
                    fabric(there).use { server ->
                        server.echo()
                        for (level in 0..15) {
                            val path = here.pathTo(there.endpoint).copy(serviceLevel = level)
                            client.transact(vendorRequest(), path, 30.seconds, 5)
                        }
                        // The completion of the last one has not been taken.
                        here.addressCount shouldBeLessThanOrEqual 3 + 1
                    }
                }
            }
        }

        test("should say what it cannot carry, and why") {
            two {
                val here = UdTransport.open(near)
                fabric(here).use { fabric ->
                    val toSubnetManagement =
                        vendorRequest().also {
                            it[1] =
                                ManagementClass.SUBN_LID_ROUTED.value.toByte()
                        }
                    shouldThrow<MadTransportException> { here.send(toSubnetManagement, here.pathTo(here.endpoint)) }
                        .message shouldContain "general services only"
                    shouldThrow<MadTransportException> { here.send(vendorRequest(), directed(0, 1)) }
                        .message shouldContain "general services only"
                    shouldThrow<MadTransportException> { fabric.get<PortCounters>(lid(3)) }.message shouldContain
                        "RoCE, which has no LIDs"
                    val elsewhere = here.pathTo(here.endpoint).copy(partitionKey = 0x1234)
                    shouldThrow<MadTransportException> { fabric.get<PortCounters>(elsewhere) }.message shouldContain
                        "partition 0xffff"
                }
                shouldThrow<IllegalStateException> { here.send(vendorRequest(), here.pathTo(here.endpoint)) }
                    .message shouldContain "closed"
            }
        }

        test("should end a wait when the fabric is closed, and when the device is") {
            two {
                for (end in listOf<(Fabric) -> Unit>({ it.close() }, { contexts[0].close() })) {
                    val here = UdTransport.open(near)
                    val fabric = fabric(here) { timeout(1.minutes) }
                    val path = here.pathTo(here.endpoint)
                    val waiting = async(start = UNDISPATCHED) { runCatching { fabric.get<PortCounters>(path) } }
                    end(fabric)
                    fabric.close()
                    (waiting.await().exceptionOrNull() is MadClosedException) shouldBe true
                    fabric.close()
                }
            }
        }

        test("should leave nothing open when coroutines are cancelled while long messages are under way") {
            two {
                val here = UdTransport.open(near)
                val there = UdTransport.open(far)
                val started = CompletableDeferred<Unit>()
                fabric(there).use { server ->
                    server.serve(VENDOR) {
                        started.complete(Unit)
                        awaitCancellation()
                    }
                    MadTransactor(here).use { client ->
                        val asking =
                            launch { client.ask(there, here, vendorRequest(1 shl 20, GET_MULTI)) }
                        started.await()
                        asking.cancelAndJoin()
                        client.counters.outstanding shouldBe 0
                    }
                }
            }
        }

        test("should close what it has made when the device refuses a part of it") {
            two {
                network.failNext(CREATE_QUEUE_PAIR, ENOMEM)
                shouldThrow<RdmaSystemException> { UdTransport.open(near) }.errnoName() shouldBe "ENOMEM"
                shouldThrow<RuntimeException> { udFabric(near, { port(9) }) }
                udFabric(near, { receives(4) }) { retries(0) }.close()
            }
        }
    })
