package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.dsl.openDevice
import org.kverbs.umad.UmadAddress
import org.kverbs.umad.UmadAgent
import org.kverbs.umad.UmadMessage
import org.kverbs.umad.UmadPort
import java.nio.ByteBuffer
import java.time.Duration
import kotlin.concurrent.thread

private const val VENDOR_CLASS = 0x3a
private const val OUI = 0x001405
private const val GET = 1
private const val GET_RESPONSE = 0x81
private const val ETIMEDOUT = 110

/** Where a vendor's data begin: behind the header, the RMPP header and the OUI. */
private const val DATA = 40
private const val HEADER = 24
private val PATIENCE = Duration.ofSeconds(30)

/** A message of the vendor class with [size] bytes in all, which RMPP carries if that is more than a datagram. */
private fun message(
    method: Int,
    transaction: Long,
    size: Int,
): ByteArray {
    val buffer = ByteBuffer.allocate(size)
    buffer.put(0, 1).put(1, VENDOR_CLASS.toByte()).put(2, 1).put(3, method.toByte())
    buffer.putLong(8, transaction).putShort(16, 0x77)
    buffer.put(24, 1).put(25, 1).put(26, 1) // RMPP version 1, DATA, ACTIVE
    buffer.putInt(36, OUI)
    for (at in DATA until size) buffer.put(at, (at * 31 + method).toByte())
    return buffer.array()
}

private fun data(message: UmadMessage) = message.data().drop(DATA)

private fun general(gid: Gid) = UmadAddress.generalServices(GlobalRoute(gid, 0, 0, GlobalRoute.DEFAULT_HOP_LIMIT, 0))

/** The very first datagram after a boot is refused with EIO. */
private fun UmadPort.sendSoon(
    agent: Int,
    to: UmadAddress,
    message: ByteArray,
    timeout: Duration,
) {
    try {
        send(agent, to, message, timeout, 0)
    } catch (e: RdmaSystemException) {
        if (e.errnoName() != "EIO") throw e
        Thread.sleep(1000)
        send(agent, to, message, timeout, 0)
    }
}

/** Tests management datagrams on Soft-RoCE, whose kernel cuts and joins long messages. */
class UmadPortSpec :
    FunSpec({
        val (near, far) = listOf("rxe1", "rxe2").map { name -> openDevice(name).use { it.queryGid(1, 0) } }
        val asking = UmadAgent.asking(VENDOR_CLASS, 1).withSegments().withOui(OUI)

        // Long both ways is a double-sided transfer, for which the kernel wants the method GetMulti.
        for ((there, back) in listOf(256 to 256, 256 to 4096, 256 to 60_000, 60_000 to 256)) {
            test("should ask a port with $there bytes, and be answered with $back, by the kernel's RMPP") {
                UmadPort.open("rxe1", 1).use { client ->
                    UmadPort.open("rxe2", 1).use { server ->
                        val serving = server.register(asking.answering(setOf(GET)))
                        val agent = client.register(asking)
                        val question = message(GET, 0x1234, there)
                        client.sendSoon(agent, general(far), question, PATIENCE)
                        val asked = server.receive(PATIENCE).shouldNotBeNull()
                        asked.status() shouldBe 0
                        asked.agent() shouldBe serving
                        asked.data().size shouldBe there
                        data(asked) shouldBe question.drop(DATA)
                        asked.from().globalRoute().shouldNotBeNull().dgid() shouldBe near
                        val transaction = ByteBuffer.wrap(asked.data()).getLong(8)
                        val answer = message(GET_RESPONSE, transaction, back)
                        server.send(serving, general(near), answer, Duration.ZERO, 0)
                        val answered = client.receive(PATIENCE).shouldNotBeNull()
                        answered.status() shouldBe 0
                        answered.agent() shouldBe agent
                        data(answered) shouldBe answer.drop(DATA)
                        ByteBuffer.wrap(answered.data()).getInt(12) shouldBe 0x1234
                    }
                }
            }
        }

        test("should hand a request back that nobody answers, and find nothing else") {
            UmadPort.open("rxe1", 1).use { client ->
                UmadPort.open("rxe2", 1).use { server ->
                    server.register(asking.answering(setOf(GET)))
                    val agent = client.register(asking)
                    val question = message(GET, 7, 256)
                    client.sendSoon(agent, general(far), question, Duration.ofMillis(200))
                    val back = client.receive(PATIENCE).shouldNotBeNull()
                    back.status() shouldBe ETIMEDOUT
                    back.data().size shouldBe HEADER
                    ByteBuffer.wrap(back.data()).getInt(12) shouldBe 7
                    client.receive(Duration.ofMillis(100)).shouldBeNull()
                }
            }
        }

        test("should be refused another request of a transaction that waits for its answer") {
            UmadPort.open("rxe1", 1).use { client ->
                UmadPort.open("rxe2", 1).use { server ->
                    // Without an agent of the method the kernel of the peer answers that it is not supported.
                    server.register(asking.answering(setOf(GET)))
                    val agent = client.register(asking)
                    client.sendSoon(agent, general(far), message(GET, 8, 256), PATIENCE)
                    shouldThrow<RdmaSystemException> {
                        client.send(agent, general(far), message(GET, 8, 256), PATIENCE, 0)
                    }.errnoName() shouldBe "EINVAL"
                    client.send(agent, general(far), message(GET, 9, 256), PATIENCE, 0)
                }
            }
        }

        test("should say that another agent receives a method, that RoCE has no subnet management, and no such port") {
            UmadPort.open("rxe1", 1).use { port ->
                port.register(asking.answering(setOf(GET)))
                shouldThrow<RdmaSystemException> { port.register(asking.answering(setOf(GET))) }
                    .message shouldContain "another agent may receive requests of one of them already"
                shouldThrow<RdmaSystemException> { port.register(UmadAgent.asking(0x81, 1)) }
                    .message shouldContain "A RoCE port has no subnet management"
            }
            shouldThrow<RdmaSystemException> { UmadPort.open("siw0", 1) }.message shouldContain "iWARP has no"
        }

        test("should end a wait when the port is closed") {
            val port = UmadPort.open("rxe1", 1)
            val waiting = Thread.currentThread()
            thread {
                while (waiting.state == Thread.State.RUNNABLE && port.isOpen) {
                    Thread.sleep(100)
                    port.close()
                }
            }
            shouldThrow<IllegalStateException> { port.receive(Duration.ofHours(1)) }.message shouldContain
                "management port rxe1/1 is closed"
        }
    })
