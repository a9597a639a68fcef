package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.withTimeout
import org.kverbs.RdmaSystemException
import org.kverbs.acceptance.contract.await
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.dsl.openDevice
import org.kverbs.management.agent.ReceivedRequest
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.port.endPort
import org.kverbs.management.rmpp.RmppSettings
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Notice
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transaction.MadTimeoutException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.UdTransport
import org.kverbs.management.transport.UmadTransport
import org.kverbs.management.transport.roce
import org.kverbs.structures.Lid
import org.kverbs.umad.SubnetManagerBit
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.measureTime

/**
 * The index of the link-local GID. The kernel compares the GIDs of a request of umad with those in the header of its
 * answer, and takes an IPv4 header there for one of IPv6: it drops all answers to requests from an IPv4 GID.
 */
private const val LINK_LOCAL = 0
private const val LONG = 200_000
private const val LESS = 20_000

/** The ends of the wire. */
private enum class End(
    val device: String,
) {
    NEAR("rxe1"),
    FAR("rxe2"),
}

/** What a program talks through, and its path from the other end. */
private class Talker(
    val transport: MadTransport,
    val path: LidPath,
) {
    override fun toString() = "$transport"
}

/** The kinds of transports. */
private enum class Kind(
    private val words: String,
) {
    UMAD("umad, with the kernel's RMPP") {
        override fun open(end: End): Talker =
            Talker(UmadTransport.open(endPort("${end.device}/1")), end.generalServices())
    },
    UD("a UD queue pair, with ours") {
        override fun open(end: End): Talker {
            val context = openDevice(end.device)
            val transport = UdTransport.open(context.protectionDomain()) { gidIndex(LINK_LOCAL) }
            val path = end.generalServices().copy(destinationQueuePair = transport.endpoint.queuePairNumber())
            return Talker(Closing(transport, context), path)
        }
    }, ;

    abstract fun open(end: End): Talker

    override fun toString() = words
}

/** Closes the device with the transport. */
private class Closing(
    private val transport: MadTransport,
    private val device: AutoCloseable,
) : MadTransport by transport {
    override fun close() {
        transport.close()
        device.close()
    }
}

private fun End.gid(): Gid = openDevice(device).use { it.queryGid(1, LINK_LOCAL) }

private fun End.generalServices() = roce(gid(), LINK_LOCAL)

/** Answers with as many bytes as the modifier says, or else with how many came. */
private fun answer(request: ReceivedRequest) {
    val came = request.mad.drop(VENDOR_DATA) == vendorBytes(request.mad.size - VENDOR_DATA, 1).toList()
    val data = if (request.modifier > 0) vendorBytes(request.modifier.toInt(), 2) else ByteArray(4)
    if (came) request.answerLong(data)
}

private suspend fun talk(
    asking: Kind,
    answering: Kind,
    block: suspend (MadTransactor, LidPath) -> Unit,
) {
    val far = answering.open(End.FAR)
    fabric(far.transport) { rmpp(RmppSettings(retries = 50)) }.use { server ->
        server.serve(vendorClass, ::answer)
        val near = asking.open(End.NEAR)
        MadTransactor(near.transport, rmpp = RmppSettings(retries = 50)).use { block(it, far.path) }
    }
}

private suspend fun MadTransactor.ask(
    request: ByteArray,
    path: LidPath,
): ByteArray = transact(request, path, 10.seconds, 1)

/** Takes what arrives, and does nothing. */
private object Nobody : MadReceiver {
    override fun received(
        mad: ByteArray,
        back: MadPath?,
    ) = Unit

    override fun undelivered(mad: ByteArray) = Unit
}

private fun MadTransport.sends(
    mad: ByteArray,
    path: LidPath,
) = try {
    send(mad, path)
    true
} catch (e: MadTransportException) {
    println("refused: ${e.message}")
    Thread.sleep(200)
    false
}

/** Tests management datagrams on Soft-RoCE: agents of umad and queue pairs, and a C program over libibumad. */
internal class ManagementWireSpec :
    FunSpec({
        beforeSpec {
            // The first datagrams after a boot are refused, as the kernel has not found the neighbour's address.
            for ((end, other) in listOf(End.NEAR to End.FAR, End.FAR to End.NEAR)) {
                val transport = Kind.UMAD.open(end).transport
                transport.receive(Nobody)
                transport.use { await("a way from $end") { it.sends(vendorRequest(256, 0), other.generalServices()) } }
            }
        }

        for ((asking, answering) in listOf(Kind.UMAD to Kind.UMAD, Kind.UD to Kind.UMAD, Kind.UMAD to Kind.UD)) {
            test("should carry a datagram and $LONG bytes each way from $asking to $answering") {
                talk(asking, answering) { client, path ->
                    client.ask(vendorRequest(256, 0), path).size shouldBe VENDOR_DATA + 4
                    val took =
                        measureTime {
                            val answer = client.ask(vendorRequest(256, LONG), path)
                            answer.copyOfRange(VENDOR_DATA, VENDOR_DATA + LONG) shouldBe vendorBytes(LONG, 2)
                            client.ask(vendorRequest(LONG, 0), path)
                        }
                    println("$asking to $answering: $took")
                }
            }
        }

        // The kernel notices a lost segment of its own after two seconds, so that it sends less.
        for ((asking, answering) in listOf(Kind.UD to Kind.UMAD, Kind.UMAD to Kind.UD)) {
            val (there, back) = if (asking == Kind.UD) LONG to LESS else LESS to LONG
            test("should carry $there bytes from $asking to $answering, and $back back, with loss and reordering") {
                talk(asking, answering) { client, path ->
                    val took =
                        measureTime {
                            impaired("netem delay 1ms reorder 25% 50% loss 1%") {
                                client.transact(vendorRequest(there, 0), path, 30.seconds, 1)
                                val answer = client.transact(vendorRequest(256, back), path, 30.seconds, 1)
                                answer.copyOfRange(VENDOR_DATA, VENDOR_DATA + back) shouldBe vendorBytes(back, 2)
                            }
                        }
                    println("$asking to $answering, with loss: $took")
                }
            }
        }

        test("should ask again through umad as often as was said, and no oftener, while the peer is silent") {
            fabric(Kind.UMAD.open(End.FAR).transport).use { server ->
                server.serve(vendorClass) { }
                MadTransactor(Kind.UMAD.open(End.NEAR).transport).use { client ->
                    shouldThrow<MadTimeoutException> {
                        client.transact(vendorRequest(256, 0), End.FAR.generalServices(), 300.milliseconds, 3)
                    }.attempts shouldBe 4
                    client.counters[MadEventKind.RETRIED] shouldBe 3
                    client.counters[MadEventKind.UNDELIVERED] shouldBe 0
                    await("four requests") { server.counters[MadEventKind.REQUESTED] >= 4 }
                }
            }
        }

        test("should ask typed attributes, serve them, and send a trap until it is confirmed, through umad") {
            val (near, far) = End.entries.map { Kind.UMAD.open(it) }
            fabric(far.transport).use { server ->
                server.serve(ManagementClass.OPENIB_PING) { it.answer(OpenIBPing { hostName = "far" }) }
                fabric(near.transport) { timeout(10.seconds) }.use { client ->
                    client.get<OpenIBPing>(far.path).hostName shouldBe "far"
                    val watching = async { server.traps(ManagementClass.DEV_MGT).first() }
                    client.trap(far.path, Notice { issuerLID = Lid(9) }, ManagementClass.DEV_MGT)
                    withTimeout(30.seconds) { watching.await() }.notice.issuerLID.value shouldBe 9
                }
            }
        }

        test("should not serve through umad what another program serves, until it ends") {
            val (one, other) = List(2) { Kind.UMAD.open(End.NEAR) }
            fabric(one.transport).use { first ->
                fabric(other.transport).use { second ->
                    first.serve(vendorClass, ::answer).use {
                        shouldThrow<MadTransportException> { second.serve(vendorClass, ::answer) }
                            .message shouldContain "another agent may receive requests"
                    }
                    second.serve(vendorClass, ::answer).close()
                    first.serve(vendorClass, ::answer).close()
                }
            }
        }

        test("should exchange messages with a C program over libibumad, in both directions") {
            val program = tempdir().resolve("agent").path
            compileC(AGENT, program, "-libumad")
            val near = Kind.UD.open(End.NEAR)
            val server = ProcessBuilder(program, "serve", End.FAR.device).start()
            try {
                server.inputReader().readLine() shouldBe "ready"
                MadTransactor(near.transport).use { client ->
                    for (size in listOf(256, 257, 60_000)) {
                        val answer = client.ask(vendorRequest(size, 0, bothWays(size)), End.FAR.generalServices())
                        answer.copyOfRange(VENDOR_DATA, size) shouldBe
                            vendorBytes(size - VENDOR_DATA, 1).apply { reverse() }
                    }
                }
            } finally {
                server.destroyForcibly().waitFor()
            }
            val far = Kind.UD.open(End.FAR)
            fabric(far.transport).use { serving ->
                serving.serve(vendorClass) { it.answerLong(it.mad.copyOfRange(VENDOR_DATA, it.mad.size)) }
                val qp = "${far.path.destinationQueuePair}"
                for (size in listOf("256", "60000")) {
                    said(
                        program,
                        "ask",
                        End.NEAR.device,
                        "$LINK_LOCAL",
                        End.FAR.gid().toString(),
                        qp,
                        size,
                    ) shouldStartWith
                        "same $size"
                }
            }
        }

        test("should exchange messages of a queue pair of the embedded device with one of Soft-RoCE") {
            val far = SoftRoceWire.startJava(SoftRoceWire.THERE, "UdEchoProgram")
            try {
                val endpoint = QueuePairEndpoint.parse(far.inputReader().readLine())
                openDevice(SoftRoceWire.device).use { context ->
                    val transport = UdTransport.open(context.protectionDomain())
                    MadTransactor(transport).use { client ->
                        for (size in listOf(256, 60_000)) {
                            val answer = client.ask(vendorRequest(size, 0), transport.pathTo(endpoint))
                            answer.copyOfRange(VENDOR_DATA, size) shouldBe vendorBytes(size - VENDOR_DATA, 1)
                        }
                    }
                }
            } finally {
                far.outputWriter().close()
                far.waitFor()
            }
        }

        test("should tell the fabric of a subnet manager while the bit is held") {
            val port = endPort("rxe1/1")
            SubnetManagerBit.open("rxe1", 1).use {
                "${port.capabilityMask}" shouldContain "IsSM(2)"
                shouldThrow<RdmaSystemException> { SubnetManagerBit.open("rxe1", 1) }.message shouldContain
                    "Another program is the port's subnet manager"
            }
            "${port.capabilityMask}" shouldNotContain "IsSM(2)"
        }
    })

/** Runs [block] while packets in both directions of the wire pass a queueing discipline, in the words of tc(8). */
private suspend fun impaired(
    discipline: String,
    block: suspend () -> Unit,
) {
    val ends = listOf("v1", "v2")
    try {
        ends.forEach { said("tc", "qdisc", "add", "dev", it, "root", *discipline.split(' ').toTypedArray()) }
        block()
    } finally {
        ends.forEach { said("tc", "qdisc", "del", "dev", it, "root") }
    }
}
