package org.kverbs.embedded.cm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.internal.abi.RdmaCmEvent
import org.kverbs.internal.abi.RdmaConnParam
import org.kverbs.internal.memory.Memory

private val NOTHING = ByteArray(0)

private fun path(
    local: Long = PEER,
    remote: Long = US,
) = Message.Path(0, local, 0, remote, 0, 0, 0, 64, 17)

/** Returns the id of the waiting request. */
private fun RawPeer.takeRequest(): Long {
    val event = manager.awaitEvent(channel, 0)
    return Memory.getLong(event + RdmaCmEvent.ID).also { manager.ackEvent(event) shouldBe 0 }
}

/** Accepts the waiting request; returns the REP. */
private fun RawPeer.accept(): Message.Rep {
    answers.clear()
    allowed = 1
    manager.accept(takeRequest(), arena.allocate(RdmaConnParam.SIZE.toLong(), 8)) shouldBe 0
    return answers.single().shouldBeInstanceOf<Message.Rep>()
}

class WrongMessagesSpec :
    FunSpec({
        test("should reject a wrong request with its reason, without an event for the program") {
            val reasons =
                mapOf(
                    request(service = TCP_SERVICE + 1) to 8,
                    request(service = UDP_SERVICE) to 8,
                    request(service = 0x1234) to 8,
                    request(transport = 1) to 9,
                    request(path = path(remote = US + 1)) to 12,
                    request(path = path(local = PEER + 1)) to 5,
                    request(mtu = 6) to 26,
                    request(mtu = 0) to 26,
                    request(data = header().also { it[0] = 0x10 } + ByteArray(56)) to 28,
                    request(data = header().also { it[1] = 0x50 } + ByteArray(56)) to 28,
                )
            RawPeer(1).use { peer ->
                for ((request, reason) in reasons) {
                    withClue(request) {
                        val rej = peer.say(request).single().shouldBeInstanceOf<Message.Rej>()
                        (rej.reason() to rej.about()) shouldBe (reason to Message.ABOUT_REQ)
                        (rej.localId() to rej.remoteId()) shouldBe (0 to 5)
                        // The largest MTU that this side accepts (IBA volume 1, 12.6.7.2).
                        rej.information() shouldBe if (reason == 26) byteArrayOf(0x50) else NOTHING
                    }
                }
                peer.manager.awaitEvent(peer.channel, 0) shouldBe 0
            }
        }

        test("should drop datagrams for another queue pair, or of another partition, key, length or operation") {
            RawPeer(1).use { peer ->
                peer.say(request()) { qkey = 1 }.shouldBeEmpty()
                peer.say(request()) { pkey = 0x1234 }.shouldBeEmpty()
                peer.say(request()) { payloadLength = 255 }.shouldBeEmpty()
                peer.say(request()) { opcode = 0x65 }.shouldBeEmpty()
                peer.say(request()) { destinationGidLow = US + 1 }.shouldBeEmpty()
                peer.manager.awaitEvent(peer.channel, 0) shouldBe 0
                peer.say(request()).shouldBeEmpty()
                peer.takeRequest()
            }
        }

        test("should answer messages that belong to no connection, if the protocol has an answer") {
            RawPeer(1).use { peer ->
                val rep = Message.Rep(8, 9, 0, 7, 1, 1, 1, 15, 0, false, 7, false, 2, NOTHING)
                val rej = peer.say(rep).single().shouldBeInstanceOf<Message.Rej>()
                (rej.reason() to rej.about()) shouldBe (6 to Message.ABOUT_REP)
                (rej.localId() to rej.remoteId()) shouldBe (9 to 8)
                val drep = peer.say(Message.Dreq(8, 9, 7, NOTHING)).single().shouldBeInstanceOf<Message.Drep>()
                (drep.localId() to drep.remoteId()) shouldBe (9 to 8)
                val late = peer.say(Message.Rtu(8, 9, NOTHING)).single().shouldBeInstanceOf<Message.Rej>()
                (late.reason() to late.about()) shouldBe (6 to Message.ABOUT_OTHER)
                (late.localId() to late.remoteId()) shouldBe (9 to 8)
                peer.say(Message.Drep(8, 9, NOTHING)).shouldBeEmpty()
                peer.say(Message.Mra(8, 9, 0, 20, NOTHING)).shouldBeEmpty()
                peer.say(Message.Rej(8, 9, 0, 28, NOTHING, NOTHING)).shouldBeEmpty()
                peer.say(Message.Lap(8, 9)).shouldBeEmpty()
                peer.say(Message.SidrRep(8, 0, 7, UDP_SERVICE, 1, NOTHING, NOTHING)).shouldBeEmpty()
            }
        }

        test("should ignore messages for a connection from another address, id or queue pair") {
            RawPeer(1).use { peer ->
                peer.say(request()).shouldBeEmpty()
                val rep = peer.accept()
                for ((id, from) in mapOf(5 to PEER + 1, 6 to PEER)) {
                    val rej = peer.say(Message.Rtu(id, rep.localId(), NOTHING), from).single()
                    rej.shouldBeInstanceOf<Message.Rej>().reason() shouldBe 6
                }
                peer.say(Message.Dreq(5, rep.localId(), rep.qpn() + 1, NOTHING)).shouldBeEmpty()
                peer.say(Message.Rej(5, rep.localId(), 1, 28, NOTHING, NOTHING), from = PEER + 1).shouldBeEmpty()
                peer.manager.awaitEvent(peer.channel, 0) shouldBe 0
                peer.say(Message.Rtu(5, rep.localId(), NOTHING)).shouldBeEmpty()
                peer.takeRequest() // the next event, ESTABLISHED, is of the same id
                peer.say(Message.Lap(5, rep.localId())).single().shouldBeInstanceOf<Message.Apr>().status() shouldBe 2
            }
        }

        test("should answer a repeated request by MRA while the program decides, and by the same REP after that") {
            RawPeer(1).use { peer ->
                peer.say(request()).shouldBeEmpty()
                val mra = peer.say(request()).single().shouldBeInstanceOf<Message.Mra>()
                (mra.about() to mra.serviceTimeout()) shouldBe (Message.ABOUT_REQ to 24)
                val rep = peer.accept()
                val again = peer.say(request()).single().shouldBeInstanceOf<Message.Rep>()
                (again.localId() to again.psn()) shouldBe (rep.localId() to rep.psn())
                peer.manager.awaitEvent(peer.channel, 0) shouldBe 0
            }
        }

        test("should reject a second connection of a queue pair as stale, and end the first") {
            RawPeer(1).use { peer ->
                peer.say(request())
                val rep = peer.accept()
                peer.say(Message.Rtu(5, rep.localId(), NOTHING))
                val (dreq, rej) = peer.say(request(id = 6)).also { it.size shouldBe 2 }
                dreq.shouldBeInstanceOf<Message.Dreq>().remoteId() shouldBe 5
                rej.shouldBeInstanceOf<Message.Rej>().reason() shouldBe 10
                peer.say(Message.Drep(5, rep.localId(), NOTHING)).shouldBeEmpty()
                // A connection in TIMEWAIT does not block another.
                peer.say(request(id = 7)).shouldBeEmpty()
            }
        }
    })
