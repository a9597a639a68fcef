package org.kverbs.embedded.cm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.longs.shouldBeGreaterThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import org.kverbs.embedded.internal.cm.InsideConnections
import org.kverbs.embedded.internal.cm.Mad
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.internal.abi.RdmaCmEvent
import org.kverbs.internal.abi.RdmaCmEventType
import org.kverbs.internal.abi.RdmaConnParam
import org.kverbs.internal.memory.Memory
import java.lang.foreign.ValueLayout.JAVA_INT

private const val SECOND = 1_000_000_000L
private const val HOUR = 3600 * SECOND
private const val MOST = 16
private const val SHARE = MOST / 4

/** A reason of rejection (IBA volume 1, 12.6.7.2). */
private const val NO_RESOURCES = 3
private val NOTHING = ByteArray(0)

/** A listener on a device that other machines reach, and strangers, most of whom never confirm an answer. */
private class Besieged(
    elsewhere: Boolean = true,
) : AutoCloseable {
    private val raw = RawPeer(1, elsewhere, backlog = 1024, halfOpen = MOST)
    private val inside = InsideConnections(raw.manager)
    private val parameters = raw.arena.allocate(RdmaConnParam.SIZE.toLong(), 8)
    val connections: Int get() = inside.connections

    /** Sends a stranger's message, and returns the device's immediate answers. */
    fun say(
        message: Message,
        from: Long = PEER,
    ): List<Message> {
        raw.answers.clear()
        raw.allowed = 2
        raw.bring(Mad(1, message).encode(), from)
        return raw.answers.toList()
    }

    fun ask(
        number: Int,
        from: Long = PEER,
        service: Long = TCP_SERVICE,
    ): List<Message> {
        val path = Message.Path(0, from, 0, US, 0, 0, 0, 64, 17)
        return say(request(number, service, caGuid = number.toLong(), qpn = number, path = path), from)
    }

    /** Returns the types of the waiting events, and the ids of their connections. */
    fun events(): List<Pair<Int, Long>> =
        generateSequence { raw.manager.awaitEvent(raw.channel, 0).takeIf { it > 0 } }
            .map { event ->
                val type = Memory.at(event, RdmaCmEvent.SIZE.toLong()).get(JAVA_INT, RdmaCmEvent.EVENT.toLong())
                (type to Memory.getLong(event)).also { raw.manager.ackEvent(event) }
            }.toList()

    /** Accepts the request, and returns the messages that the device sends at once. */
    fun accept(): List<Message> {
        raw.answers.clear()
        raw.allowed = 1000
        for ((type, id) in events()) {
            if (type == RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST) {
                raw.manager.accept(id, parameters)
            }
        }
        return raw.answers.toList()
    }

    /**
     * Lets an hour pass in steps of a tenth of a second, and returns the times at which messages were sent, in
     * nanoseconds.
     */
    fun hour(meanwhile: () -> Unit = {}): List<Long> {
        raw.allowed = 100_000
        val times = mutableListOf<Long>()
        repeat((HOUR / (SECOND / 10)).toInt()) {
            raw.answers.clear()
            raw.locked { raw.engine.advance(SECOND / 10) }
            if (it < 1000) meanwhile()
            repeat(raw.answers.size) { times += raw.engine.now() }
        }
        return times
    }

    /** Ends all connections first: peers in other processes would be told at the end of this process. */
    override fun close() {
        raw.allowed = 100_000
        raw.manager.destroyEventChannel(raw.channel)
        raw.locked { raw.engine.advance(HOUR) }
        raw.close()
    }
}

class HalfOpenSpec :
    FunSpec({
        val requested = RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST

        for ((what, again) in mapOf("once" to false, "ten times a second" to true)) {
            test(
                "should answer a peer that asks $what and confirms nothing at most six times, a second apart, and " +
                    "then forget it",
            ) {
                Besieged().use { device ->
                    device.ask(1).shouldBeEmpty()
                    val answers = device.accept().size + device.hour { if (again) device.ask(1) }.size
                    answers shouldBeLessThanOrEqual 6
                    if (!again) device.connections shouldBe 0
                }
            }
        }

        test("should leave a second between the answers to a peer that asks without a pause") {
            Besieged().use { device ->
                device.ask(1).shouldBeEmpty()
                device.accept().size shouldBe 1
                val times = listOf(0L) + device.hour { device.ask(1) }
                times.zipWithNext { one, next -> next - one }.min() shouldBeGreaterThanOrEqual SECOND
            }
        }

        test("should go on answering when the peer has asked for more time: its address is confirmed") {
            Besieged().use { device ->
                device.ask(1)
                val rep = device.accept().single() as Message.Rep
                device.say(Message.Mra(rep.remoteId(), rep.localId(), Message.ABOUT_REP, 18, ByteArray(0)))
                device.hour().size shouldBeGreaterThan 10
            }
        }

        test("should give the program a limited number of requests of one address and of all, and answer no others") {
            Besieged().use { device ->
                repeat(100) { device.ask(it + 1).shouldBeEmpty() }
                device.connections shouldBe SHARE
                repeat(100) { device.ask(it + 101, from = PEER + it).shouldBeEmpty() }
                device.connections shouldBe MOST
                device.events().map { it.first } shouldBe List(MOST) { requested }
            }
        }

        test(
            "should let the oldest connection of the address with the most give way when too many answers are not " +
                "confirmed",
        ) {
            Besieged().use { device ->
                var number = 0
                repeat(3) { source ->
                    repeat(SHARE) { device.ask(++number, PEER + source) }
                    device.accept()
                }
                device.ask(++number, PEER + 3)
                val others = device.accept()
                repeat(MOST / 2) {
                    device.ask(++number, PEER + 10 + it)
                    device.accept()
                    device.connections shouldBeLessThanOrEqual MOST
                }
                val rep = others.single() as Message.Rep
                device.events()
                device.say(Message.Rtu(rep.remoteId(), rep.localId(), NOTHING), PEER + 3)
                device.events().map { it.first } shouldBe listOf(RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED)
            }
        }

        test("should not answer a further request of an address that has not confirmed its answers") {
            Besieged().use { device ->
                repeat(SHARE) { device.ask(it + 1) }
                val reps = device.accept().map { it as Message.Rep }
                reps.size shouldBe SHARE
                device.ask(100).shouldBeEmpty()
                device.events().shouldBeEmpty()
                for (rep in reps) device.say(Message.Rtu(rep.remoteId(), rep.localId(), NOTHING)).shouldBeEmpty()
                device.events().map { it.first } shouldBe List(SHARE) { RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED }
                device.ask(100)
                device.accept().map { (it as Message.Rep).remoteId() } shouldBe listOf(100)
            }
        }

        test("should tell both ends of a connection that gave way to another address") {
            Besieged().use { device ->
                val reps =
                    (0 until MOST).map {
                        device.ask(it + 1, PEER + it / SHARE)
                        device.accept().single() as Message.Rep
                    }
                device.ask(100, PEER + SHARE)
                val (rej, rep) = device.accept()
                rej as Message.Rej
                rej.reason() shouldBe NO_RESOURCES
                (rej.localId() to rej.remoteId()) shouldBe (reps.first().localId() to 1)
                (rep as Message.Rep).remoteId() shouldBe 100
                device.events().map { it.first } shouldBe listOf(RdmaCmEventType.RDMA_CM_EVENT_UNREACHABLE)
                device.connections shouldBe MOST
            }
        }

        test("should reject a confirmation of a forgotten connection, and some of a flood of them") {
            Besieged().use { device ->
                val rej = device.say(Message.Rtu(8, 9, NOTHING)).single() as Message.Rej
                (rej.reason() to rej.about()) shouldBe (6 to Message.ABOUT_OTHER)
                (rej.localId() to rej.remoteId()) shouldBe (9 to 8)
                (1 until 3000).sumOf { device.say(Message.Rtu(8, it, NOTHING), PEER + it % 100).size } shouldBe 249
            }
        }

        test("should answer a connection's peer while a flood of strangers gets no answer") {
            Besieged().use { device ->
                device.ask(1)
                val rep = device.accept().single() as Message.Rep
                device.say(Message.Rtu(1, rep.localId(), NOTHING))
                repeat(300) { device.ask(it + 2, PEER + it % 100, TCP_SERVICE + 1) }
                device.ask(1000, service = TCP_SERVICE + 1).shouldBeEmpty()
                device.say(Message.Lap(1, rep.localId())).single().shouldBeInstanceOf<Message.Apr>()
            }
        }

        test("should not count connections that were established, nor any of the same process") {
            Besieged().use { device ->
                repeat(100) { number ->
                    device.ask(number + 1)
                    val rep = device.accept().single() as Message.Rep
                    device.say(Message.Rtu(rep.remoteId(), rep.localId(), NOTHING))
                }
                device.connections shouldBe 100
            }
            Besieged(elsewhere = false).use { device ->
                repeat(100) { device.ask(it + 1) }
                device.connections shouldBe 100
            }
        }

        test("should answer some of a flood of requests that no listener takes") {
            Besieged().use { device ->
                val answers = (1..3000).sumOf { device.ask(it, PEER + it % 100, TCP_SERVICE + 1).size }
                answers shouldBe 250
            }
        }
    })
