package org.kverbs.management.rmpp

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.delay
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runTest
import org.kverbs.management.path.lid
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.structures.RMPPType
import org.kverbs.management.transport.MadReceiver
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

private fun TestScope.over(
    end: Wire.End,
    inbox: Inbox,
    settings: RmppSettings = RmppSettings(),
) = RmppTransport(end, settings, backgroundScope.coroutineContext).also { it.receive(inbox) }

/** Hears of its own transfers alone. */
private class OwnInbox(
    inbox: Inbox,
) : MadReceiver by inbox,
    OwnTransfersAlone

/** The packets of [type] that went over the wire. */
private fun Wire.of(type: RMPPType) = packets.filter { Rmpp.type(it) == type }

/** Runs a test with a receiver that has the first segment of a long message. */
private fun begun(
    settings: RmppSettings,
    body: suspend TestScope.(wire: Wire, inbox: Inbox, receiver: RmppTransport) -> Unit,
) = runTest {
    val wire = Wire(backgroundScope)
    val inbox = Inbox()
    val receiver = over(wire.second, inbox, settings)
    wire.second.deliver(segment(1, RMPPFlag.FIRST), lid(1))
    body(wire, inbox, receiver)
}

@OptIn(ExperimentalCoroutinesApi::class)
class RmppTransportSpec :
    FunSpec({
        test("should carry messages of each length whole") {
            for (size in listOf(0, 1, 199, 200, 201, 399, 400, 401, 200 * 64, 200 * 64 + 1, 200 * 128, 1_000_003)) {
                runTest {
                    val wire = Wire(backgroundScope)
                    val inbox = Inbox()
                    over(wire.second, inbox)
                    val sender = over(wire.first, Inbox())
                    val message = longMessage(size)
                    sender.send(message, lid(2))
                    delay(5.minutes)
                    withClue("$size bytes") {
                        (inbox.messages.single().withoutRmpp() == message.withoutRmpp()) shouldBe true
                        wire.of(RMPPType.DATA).size shouldBe maxOf(1, (size + 199) / 200)
                        sender.underWay shouldBe 0
                    }
                }
            }
        }

        test("should write the lengths that receivers expect: all payloads first, the last payload last") {
            runTest {
                val wire = Wire(backgroundScope)
                over(wire.second, Inbox())
                over(wire.first, Inbox()).send(longMessage(450), lid(2))
                delay(1.seconds)
                val data = wire.of(RMPPType.DATA)
                data.map { Rmpp.segment(it) } shouldContainExactly listOf(1, 2, 3)
                data.map { Rmpp.lengthOrWindow(it) } shouldContainExactly listOf(450L + 3 * 20, 0, 50 + 20)
                data.map { Rmpp.flags(it).value } shouldContainExactly listOf(3, 1, 5)
                wire.of(RMPPType.ACK).map { Rmpp.method(it) }.distinct() shouldBe listOf(0x12)
            }
        }

        for (seed in 1..6) {
            test("should carry many messages both ways at once over a poor wire (seed $seed)") {
                runTest {
                    val random = Random(seed)
                    val wire = Wire(backgroundScope, random, loss = 3 + seed, doubling = 4, delaying = 5)
                    val here = Inbox()
                    val there = Inbox()
                    val settings = RmppSettings(window = random.nextInt(1, 20), retries = 30)
                    val first = over(wire.first, here, settings)
                    val second = over(wire.second, there, settings.copy(window = 64))
                    val messages = List(12) { longMessage(random.nextInt(20_000), it.toLong(), random = random) }
                    messages.forEach {
                        first.send(it, lid(2))
                        second.send(it, lid(1))
                    }
                    delay(10.minutes)
                    for (inbox in listOf(here, there)) {
                        inbox.failures.shouldBeEmpty()
                        val arrived = inbox.messages.map { it.withoutRmpp() }.toSet()
                        (arrived == messages.map { it.withoutRmpp() }.toSet()) shouldBe true
                        inbox.messages.size shouldBe messages.size
                    }
                    first.underWay + second.underWay shouldBe 0
                }
            }
        }

        test("should turn the direction after a long request, and answer in the window that the peer grants") {
            runTest {
                val wire = Wire(backgroundScope)
                val asking = Inbox()
                val asked = Inbox()
                val first = over(wire.first, asking, RmppSettings(window = 8))
                val second = over(wire.second, asked)
                first.send(longMessage(500, method = Method.GET_MULTI), lid(2))
                delay(100.milliseconds)
                asked.messages.size shouldBe 1
                val turned = wire.of(RMPPType.ACK).last()
                Rmpp.segment(turned) shouldBe 0
                Rmpp.lengthOrWindow(turned) shouldBe 8
                Rmpp.method(turned) shouldBe 0x14
                wire.packets.clear()
                second.send(longMessage(4000, method = Method.GET_MULTI_RESP), lid(1))
                delay(1.milliseconds)
                wire.of(RMPPType.DATA).size shouldBe 8
                delay(100.milliseconds)
                asking.messages.size shouldBe 1
            }
        }

        test("should give up a message that nobody acknowledges, and say so to the peer") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                over(wire.first, inbox, RmppSettings(retries = 2)).send(longMessage(5000), lid(3))
                delay(1.minutes)
                inbox.failures shouldBe listOf(RMPPStatus.TOO_MANY_RETRIES)
                wire.of(RMPPType.DATA).size shouldBe 3
                Rmpp.status(wire.of(RMPPType.ABORT).single()) shouldBe RMPPStatus.TOO_MANY_RETRIES
            }
        }

        test("should forget a message whose sender falls silent, and tell it") {
            begun(RmppSettings(idle = 2.seconds)) { wire, inbox, receiver ->
                receiver.underWay shouldBe 1
                delay(3.seconds)
                receiver.underWay shouldBe 0
                inbox.failures shouldBe listOf(RMPPStatus.TOTAL_TIME_TOO_LONG)
                Rmpp.status(wire.of(RMPPType.ABORT).single()) shouldBe RMPPStatus.TOTAL_TIME_TOO_LONG
            }
        }

        test("should end a message whose sender drips a segment now and then") {
            begun(RmppSettings(total = 60.seconds)) { wire, inbox, receiver ->
                for (number in 2..20) {
                    delay(5.seconds)
                    wire.second.deliver(segment(number), lid(1))
                }
                receiver.underWay shouldBe 0
                inbox.failures shouldBe listOf(RMPPStatus.TOTAL_TIME_TOO_LONG)
            }
        }

        test("should stop a message without an end at the longest length, and keep no more than that") {
            begun(RmppSettings(maxMessage = 10_000)) { wire, inbox, receiver ->
                for (number in 2..60) wire.second.deliver(segment(number), lid(1))
                inbox.failures shouldBe listOf(RMPPStatus.RESOURCES_EXHAUSTED)
                receiver.underWay shouldBe 0
                Rmpp.status(wire.of(RMPPType.STOP).single()) shouldBe RMPPStatus.RESOURCES_EXHAUSTED
            }
        }

        test("should hold no more than its share of memory for requests of any number of peers") {
            runTest {
                val wire = Wire(backgroundScope)
                val receiver =
                    over(wire.second, Inbox(), RmppSettings(maxMessage = 50_000, maxReceived = 100_000))
                for (peer in 1..1000) {
                    for (number in 1..20) {
                        val flags = if (number == 1) RMPPFlag.FIRST else RMPPFlag.of(0)
                        wire.second.deliver(segment(number, flags, Method.GET_MULTI), lid(peer))
                    }
                }
                receiver.underWay shouldBeLessThan 60
                wire.of(RMPPType.STOP).size shouldBeGreaterThan 900
            }
        }

        for (
        (name, packet, status) in
        listOf(
            Triple("a first segment that is not number 1", segment(2, RMPPFlag.FIRST), 120),
            Triple("a segment 1 that is not the first", segment(1), 120),
            Triple("a last segment with a length beyond the packet", segment(1, LAST, length = 221), 119),
            Triple("a last segment shorter than its header", segment(1, LAST, length = 19), 119),
            Triple("a last segment of 4 GB", segment(1, LAST, length = -1), 119),
            Triple("an unknown version", segment(1, RMPPFlag.FIRST).also { it[24] = 2 }, 125),
            Triple("an unknown type", segment(1, RMPPFlag.FIRST).also { it[25] = 9 }, 121),
            Triple("a status in data", segment(1, RMPPFlag.FIRST).also { it[27] = 1 }, 124),
        )
        ) {
            test("should abort $name with the status $status") {
                runTest {
                    val wire = Wire(backgroundScope)
                    val inbox = Inbox()
                    val receiver = over(wire.second, inbox)
                    wire.second.deliver(packet, lid(1))
                    inbox.messages.shouldBeEmpty()
                    receiver.underWay shouldBe 0
                    Rmpp.status(wire.of(RMPPType.ABORT).single()).value shouldBe status
                }
            }
        }

        test("should refuse a message whose segments are not as long as its first one says") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                over(wire.second, inbox)
                wire.second.deliver(segment(1, RMPPFlag.FIRST, length = 1000), lid(1))
                wire.second.deliver(segment(2, RMPPFlag.LAST, length = 100), lid(1))
                inbox.messages.shouldBeEmpty()
                inbox.failures shouldBe listOf(RMPPStatus.INCONSISTENT_LAST_AND_PAYLOAD_LENGTH)
            }
        }

        for (
        (name, segment, window, status) in
        listOf(
            Answer("a segment that was never sent", 9, 20, RMPPStatus.SEGMENT_NUMBER_TOO_BIG),
            Answer("a window that ends before its segment", 1, 0, RMPPStatus.NEW_WINDOW_LAST_TOO_SMALL),
        )
        ) {
            test("should abort a message whose peer acknowledges $name") {
                runTest {
                    val wire = Wire(backgroundScope)
                    val inbox = Inbox()
                    over(wire.first, inbox).send(longMessage(5000), lid(2))
                    delay(10.milliseconds)
                    wire.first.deliver(acknowledgement(segment, window), lid(2))
                    delay(10.milliseconds)
                    inbox.failures shouldBe listOf(status)
                    Rmpp.status(wire.of(RMPPType.ABORT).single()) shouldBe status
                }
            }
        }

        test("should not wait longer for a peer that repeats the same acknowledgement") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                over(wire.first, inbox, RmppSettings(retries = 3)).send(longMessage(5000), lid(2))
                while (inbox.failures.isEmpty() && currentTime < 60_000) {
                    delay(100.milliseconds)
                    wire.first.deliver(acknowledgement(1, 4), lid(2))
                }
                inbox.failures shouldBe listOf(RMPPStatus.TOO_MANY_RETRIES)
                currentTime shouldBeLessThan 3000L
                wire.of(RMPPType.DATA).size shouldBeLessThan 40
            }
        }

        test("should end a message that its peer stops, with the peer's reason") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                val sender = over(wire.first, inbox)
                sender.send(longMessage(5000), lid(2))
                delay(10.milliseconds)
                val stop = Rmpp.control(longMessage(0), RMPPType.STOP, RMPPStatus.RESOURCES_EXHAUSTED)
                wire.first.deliver(stop, lid(2))
                delay(1.milliseconds)
                inbox.failures shouldBe listOf(RMPPStatus.RESOURCES_EXHAUSTED)
                sender.underWay shouldBe 0
            }
        }

        test("should tell a receiver of its own requests nothing of the answers that a peer asked for") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                val transport = RmppTransport(wire.first, RmppSettings(retries = 1), backgroundScope.coroutineContext)
                transport.receive(OwnInbox(inbox))
                for (method in listOf(Method.GET_TABLE_RESP, Method.GET_MULTI)) {
                    transport.send(longMessage(5000, method = method), lid(3))
                    delay(1.minutes)
                    inbox.failures.size shouldBe if (method == Method.GET_MULTI) 1 else 0
                }
            }
        }

        test("should send its own requests while peers take none of their answers") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                val sender = over(wire.first, inbox, RmppSettings(maxTransfers = 1))
                sender.send(longMessage(5000, id = 1), lid(3))
                sender.send(longMessage(5000, id = 2), lid(3))
                inbox.failures shouldBe listOf(RMPPStatus.RESOURCES_EXHAUSTED)
                sender.send(longMessage(5000, id = 3, method = Method.GET_MULTI), lid(3))
                inbox.failures.size shouldBe 1
                sender.underWay shouldBe 2
            }
        }

        test("should go on with its clock behind a receiver that fails") {
            val before = Thread.getDefaultUncaughtExceptionHandler()
            Thread.setDefaultUncaughtExceptionHandler { _, _ -> }
            try {
                runTest {
                    val wire = Wire(backgroundScope)
                    val inbox = Inbox()
                    val failing =
                        object : MadReceiver by inbox {
                            override fun failed(
                                mad: ByteArray,
                                status: RMPPStatus,
                            ) = error("the receiver fails")
                        }
                    val settings = RmppSettings(idle = 1.seconds)
                    val transport = RmppTransport(wire.second, settings, backgroundScope.coroutineContext)
                    transport.receive(failing)
                    for (round in 1..2) {
                        wire.second.deliver(segment(1, RMPPFlag.FIRST), lid(1))
                        transport.underWay shouldBe 1
                        delay(1.minutes)
                        withClue("round $round") { transport.underWay shouldBe 0 }
                    }
                }
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before)
            }
        }

        test("should refuse what nobody wants, in the middle too") {
            runTest {
                val wire = Wire(backgroundScope)
                var isWanted = true
                val receiver = over(wire.second, Inbox { isWanted })
                wire.second.deliver(segment(1, RMPPFlag.FIRST), lid(1))
                receiver.underWay shouldBe 1
                isWanted = false
                wire.second.deliver(segment(2), lid(1))
                receiver.underWay shouldBe 0
                wire.of(RMPPType.ABORT).size shouldBe 1
            }
        }

        test("should end everything when it is closed in the middle of a message") {
            runTest {
                val wire = Wire(backgroundScope)
                val inbox = Inbox()
                val receiver = over(wire.second, inbox)
                val sender = over(wire.first, Inbox())
                sender.send(longMessage(100_000), lid(2))
                delay(10.milliseconds)
                receiver.close()
                sender.close()
                delay(1.minutes)
                inbox.messages.shouldBeEmpty()
                sender.underWay + receiver.underWay shouldBe 0
                runCatching { sender.send(longMessage(1000), lid(2)) }.isFailure shouldBe true
            }
        }
    })

private data class Answer(
    val name: String,
    val segment: Long,
    val window: Long,
    val status: RMPPStatus,
)

private val LAST = RMPPFlag.FIRST + RMPPFlag.LAST

private fun segment(
    number: Int,
    flags: RMPPFlag = RMPPFlag.of(0),
    method: Method = Method.GET_TABLE_RESP,
    length: Long = 0,
): ByteArray {
    val mad = longMessage(200, method = method)
    Rmpp.write(mad, RMPPType.DATA, flags + RMPPFlag.ACTIVE, RMPPStatus.NORMAL, number.toLong(), length)
    return mad
}

private fun acknowledgement(
    segment: Long,
    window: Long,
) = Rmpp.control(longMessage(0), RMPPType.ACK, segment = segment, window = window)
