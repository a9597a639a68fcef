package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeUnique
import io.kotest.matchers.shouldBe
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.acceptance.contract.await
import org.kverbs.acceptance.lab.Operation.COMPARE_AND_SWAP
import org.kverbs.acceptance.lab.Operation.FETCH_AND_ADD
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.SEND_WITH_IMMEDIATE
import org.kverbs.acceptance.lab.Operation.SEND_WITH_INVALIDATE
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.MemoryWindowType.TYPE_2
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.time.measureTime

/** How many long writes are tried. */
private const val WRITES = 4
private const val BYTES = 2 shl 20

/** The bytes of a message of 74 packets. */
private const val MESSAGE = 300_001
private const val GRH = 40
private const val DATAGRAM = 4096

/** The number of datagrams that a receive queue holds. */
private const val DATAGRAMS = 64

/** The number of different datagrams. */
private const val PATTERNS = 8

/** The number of atomics in flight. */
private const val ATOMICS = 16

/**
 * Checks transfers between the embedded device and Soft-RoCE on a network that loses, delays and reorders packets of
 * both.
 */
internal class EmbeddedImpairedSpec :
    FunSpec({
        for (netem in listOf("loss 1%", "delay 5ms", "delay 5ms reorder 25% 50%")) {
            for (direction in Direction.entries) {
                test("should carry $BYTES bytes by write, send and read, with $netem, $direction") {
                    BothSides.linked(direction, RC) {
                        SoftRoceWire.impaired("netem $netem") {
                            println("netem $netem $direction: write ${measureTime { carry(WRITE, BYTES) }}")
                            println("netem $netem $direction: send ${measureTime { carry(SEND, BYTES) }}")
                            println("netem $netem $direction: read ${measureTime { read(BYTES) }}")
                        }
                    }
                }

                test(
                    "should do each atomic once, carry immediate data, and end windows' keys, with $netem, $direction",
                ) {
                    BothSides.linked(direction, RC) {
                        val ended =
                            SoftRoceWire.impaired("netem $netem") {
                                count(rounds = 8)
                                carry(SEND_WITH_IMMEDIATE, MESSAGE)
                                carry(WRITE_WITH_IMMEDIATE, MESSAGE)
                                invalidate(windows = 2)
                            }
                        refuse(ended)
                    }
                }

                test("should carry datagrams whole, and none twice, with $netem, $direction") {
                    val least = if (netem.startsWith("loss")) DATAGRAMS * 3 / 4 else DATAGRAMS
                    BothSides.linked(direction, UD) { SoftRoceWire.impaired("netem $netem") { carryDatagrams(least) } }
                }
            }
        }

        // UC does not send again: a packet that a full socket drops is lost for good. A sender that does not wait for
        // its socket loses some of each write; a guest that gets no processor for a while loses some of one.
        for (direction in Direction.entries) {
            test("should lose nothing of a long write on UC when the network is slower than the sender, $direction") {
                val losses = ArrayList<AssertionError>()
                while (losses.size < WRITES) {
                    try {
                        BothSides.linked(direction, UC) {
                            SoftRoceWire.impaired("tbf rate 200mbit burst 20kb limit 10mb") { carry(WRITE, BYTES) }
                        }
                        return@test
                    } catch (e: AssertionError) {
                        losses += e
                    }
                }
                throw losses.last().apply { losses.dropLast(1).forEach(::addSuppressed) }
            }
        }
    })

/**
 * Counts a number up by adds and swaps in turn. An atomic that is carried out twice, or out of order, spoils the next
 * result.
 */
private fun Linked.count(rounds: Int) {
    to.putLong(TARGET, 0)
    repeat(rounds) { round ->
        val numbers = List(ATOMICS) { (round * ATOMICS + it).toLong() }
        val requests =
            numbers.mapIndexed { i, number ->
                val into = listOf(Piece(i * 8L, 8))
                if (i % 2 == 0) {
                    Request(number, FETCH_AND_ADD, into, at(0), number = 1)
                } else {
                    Request(number, COMPARE_AND_SWAP, into, at(0), number = number, swap = number + 1)
                }
            }
        from.post(requests)
        from.take(ATOMICS).zip(requests) { done, request -> done.shouldBe(request.id, request.operation) }
        val found = ByteBuffer.wrap(from.read(Piece(0, ATOMICS * 8))).order(ByteOrder.nativeOrder()).asLongBuffer()
        numbers.map { found.get() } shouldBe numbers
    }
    to.long(TARGET) shouldBe (rounds * ATOMICS).toLong()
}

/** Writes through a window and ends its key right after that, for several windows; returns the last window. */
private fun Linked.invalidate(windows: Int): String {
    val sent = Piece(0, MESSAGE)
    val written = Piece(TARGET, MESSAGE)
    val received = Piece(TARGET + (1 shl 20), MESSAGE)
    return List(windows) { number ->
        val window = to.bindWindow(written, TYPE_2)
        from.fill(sent, seed = number)
        to.receive(7, listOf(received))
        val key = RemoteMemory.parse(window).rkey()
        from.post(
            listOf(
                Request(1, WRITE, listOf(sent), window),
                Request(2, SEND_WITH_INVALIDATE, listOf(sent), word = key),
            ),
        )
        val (write, send) = from.take(2)
        write.shouldBe(1, WRITE)
        send.shouldBe(2, SEND_WITH_INVALIDATE)
        to.take(1).single().bytes shouldBe MESSAGE
        to.mismatch(written, seed = number) shouldBe -1
        to.mismatch(received, seed = number) shouldBe -1
        window
    }.last()
}

/**
 * Writes through a window whose key has ended. This needs a network that loses nothing: a responder refuses a request
 * once, and Soft-RoCE repeats one for ever that gets no answer, as it takes 7 retries for endless ones.
 */
private fun Linked.refuse(window: String) {
    from.post(listOf(Request(3, WRITE, listOf(Piece(0, 8)), window)))
    from.take(1).single().status shouldBe REM_ACCESS_ERR
}

/**
 * Sends as many datagrams as the peer has receives, numbered by their immediate data, and checks those that arrive, at
 * least [least].
 */
private fun Linked.carryDatagrams(least: Int) {
    val places = List(DATAGRAMS) { TARGET + it * (GRH + DATAGRAM) }
    places.forEach { to.receive(it, listOf(Piece(it, GRH + DATAGRAM))) }
    repeat(PATTERNS) { from.fill(Piece(it * DATAGRAM.toLong(), DATAGRAM), seed = it) }
    from.post(
        List(DATAGRAMS) {
            Request(
                it.toLong(),
                SEND_WITH_IMMEDIATE,
                listOf(Piece(it % PATTERNS * DATAGRAM.toLong(), DATAGRAM)),
                word = it,
            )
        },
    )
    from.take(DATAGRAMS).forEachIndexed { i, done -> done.shouldBe(i.toLong(), SEND_WITH_IMMEDIATE) }
    val arrived = ArrayList<Done>()
    await("$least of $DATAGRAMS datagrams") {
        arrived += to.takeRest()
        arrived.size >= least
    }
    arrived.map { it.immediate }.shouldBeUnique()
    for (datagram in arrived) {
        val number = checkNotNull(datagram.immediate) { "$datagram has no number" }
        datagram shouldBe
            Done(datagram.id, SUCCESS, RECV, GRH + DATAGRAM.toLong(), number, fromNumber, "::ffff:$fromAddress")
        withClue(datagram) { to.mismatch(Piece(datagram.id + GRH, DATAGRAM), seed = number % PATTERNS) shouldBe -1 }
    }
}
