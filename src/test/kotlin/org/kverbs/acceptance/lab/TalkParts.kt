package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import org.kverbs.RemoteMemory
import org.kverbs.acceptance.contract.GRH_BYTES
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.RejectReason
import org.kverbs.coroutines.RdmaConnection
import org.kverbs.coroutines.RdmaDatagrams
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.read
import org.kverbs.coroutines.send
import org.kverbs.coroutines.sendWithImmediate
import org.kverbs.coroutines.write
import org.kverbs.dsl.Destination
import org.kverbs.dsl.get
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.nio.ByteOrder
import kotlin.time.Duration.Companion.seconds

/** The messages that the programs of rdma-core exchange once they are connected, with the counts of [TalkProgram]. */
internal val parts: Map<Pair<String, String>, suspend Talk.() -> Unit> =
    mapOf(
        ("rping" to "client") to Talk::pingAsClient,
        ("rping" to "server") to Talk::pingAsServer,
        ("ucmatose" to "client") to Talk::matoseAsClient,
        ("ucmatose" to "server") to Talk::matoseAsServer,
        ("udaddy" to "client") to Talk::daddyAsClient,
        ("udaddy" to "server") to { daddyAsServer(withNumber = true) },
        ("rping of Pyverbs" to "client") to Talk::pingAsClient,
        ("rping of Pyverbs" to "server") to Talk::pingAsServer,
        ("ucmatose of Pyverbs" to "client") to Talk::matoseAsClient,
        ("ucmatose of Pyverbs" to "server") to Talk::matoseAsServer,
        ("udaddy of Pyverbs" to "client") to Talk::daddyAsClient,
        // Pyverbs sends datagrams of the connection manager without immediate data only.
        ("udaddy of Pyverbs" to "server") to { daddyAsServer(withNumber = false) },
        ("refusal of Pyverbs" to "client") to {
            val rejected = shouldThrow<ConnectionRejectedException> { connect { } }
            rejected.privateData().decodeToString().trimEnd('\u0000') shouldBe REFUSAL
        },
        ("refusal of Pyverbs" to "server") to { reject(REFUSAL) },
        ("multicast of Pyverbs" to "server") to Talk::meetInGroup,
        ("nobody" to "client") to {
            shouldThrow<ConnectionRejectedException> { host.connect(address) }.reason() shouldBe
                RejectReason.INVALID_SERVICE_ID
        },
    )

private const val REFUSAL = "no room"
internal const val PINGS = 10
internal const val PING_BYTES = 1000
internal const val TALK_MESSAGES = 10
internal const val TALK_BYTES = 100

// rping: a client tells the address of one of its buffers in 16 bytes; the server reads it, or writes back the bytes
// that it read.

private val BIG_LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN)
private val BIG_INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN)
private const val NOTE_BYTES = 16L
private const val SENT = 64L
private const val DATA = 4096L
private const val BACK = 8192L

private fun Talk.awaitNote() = postReceive(0, NOTE_BYTES)

private suspend fun Talk.sendNote(
    connection: RdmaConnection,
    about: Long = 0,
    bytes: Int = 0,
) {
    val note = memory.memory().asSlice(SENT, NOTE_BYTES)
    note.set(BIG_LONG, 0, about)
    note.set(BIG_INT, 8, memory.rkey())
    note.set(BIG_INT, 12, bytes)
    connection.queuePair.send(memory[SENT, NOTE_BYTES])
}

private suspend fun Talk.peerNote(): RemoteMemory {
    received().length shouldBe NOTE_BYTES
    val note = memory.memory()
    return RemoteMemory(note.get(BIG_LONG, 0), note.get(BIG_INT, 12).toLong(), note.get(BIG_INT, 8))
}

private suspend fun Talk.pingAsClient() {
    val connection = connect { awaitNote() }
    repeat(PINGS) { round ->
        val text = ByteArray(PING_BYTES) { if (it == PING_BYTES - 1) 0 else ('A' + (it + round) % 26).code.toByte() }
        memory.memory().asSlice(DATA).copyFrom(MemorySegment.ofArray(text))
        for (offset in listOf(DATA, BACK)) {
            sendNote(connection, memory.memory().address() + offset, PING_BYTES)
            received()
            awaitNote()
        }
        val back = memory.memory().asSlice(BACK, PING_BYTES.toLong()).toArray(ValueLayout.JAVA_BYTE)
        withClue("ping data of round $round") { back shouldBe text }
    }
    connection.disconnect()
}

private suspend fun Talk.pingAsServer() {
    val connection = accept { awaitNote() }
    repeat(PINGS) { round ->
        val source = peerNote()
        withClue("bytes of ping $round") { source.length() shouldBe PING_BYTES.toLong() }
        connection.queuePair.read(source, into = memory[DATA, PING_BYTES.toLong()])
        val text = memory.memory().getString(DATA)
        withClue("what the client sends") { text.startsWith("rdma-ping-$round: ") shouldBe true }
        awaitNote()
        sendNote(connection)
        val sink = peerNote()
        connection.queuePair.write(memory[DATA, text.length + 1L], to = sink)
        awaitNote()
        sendNote(connection)
    }
    connection.awaitEnd()
}

// ucmatose: the server sends its messages, then the client; the server disconnects.

private const val MESSAGE_ROOM = 1024L
private const val OUT = 32_768L

private fun Talk.awaitMessages(before: Long = 0) =
    repeat(TALK_MESSAGES) {
        postReceive(
            it * MESSAGE_ROOM,
            before + TALK_BYTES,
        )
    }

private suspend fun sendAll(one: suspend (Int) -> Unit) =
    coroutineScope {
        List(TALK_MESSAGES) { async { one(it) } }.awaitAll()
    }

private suspend fun Talk.sendAll(connection: RdmaConnection) =
    sendAll {
        connection.queuePair.send(memory[OUT, TALK_BYTES.toLong()])
    }

private suspend fun Talk.takeAll(before: Long = 0) =
    repeat(TALK_MESSAGES) {
        received().length shouldBe
            before + TALK_BYTES
    }

private suspend fun Talk.matoseAsClient() {
    val connection = connect { awaitMessages() }
    takeAll()
    sendAll(connection)
    connection.awaitEnd()
}

private suspend fun Talk.matoseAsServer() {
    val connection = accept { awaitMessages() }
    sendAll(connection)
    takeAll()
    connection.disconnect()
}

// udaddy: the client sends its messages, each with its queue pair's number, and the server sends as many back.

private suspend fun Talk.sendAll(
    datagrams: RdmaDatagrams,
    to: Destination,
) = sendAll {
    datagrams.queuePair.sendWithImmediate(memory[OUT, TALK_BYTES.toLong()], to, datagrams.queuePair.queuePair.number())
}

private suspend fun Talk.daddyAsClient() =
    connectDatagrams { awaitMessages(GRH_BYTES) }.use {
        sendAll(it, checkNotNull(it.service))
        takeAll(GRH_BYTES)
    }

private suspend fun Talk.daddyAsServer(withNumber: Boolean) =
    acceptDatagrams { awaitMessages(GRH_BYTES) }.use { datagrams ->
        val first = received()
        repeat(TALK_MESSAGES - 1) { received().length shouldBe GRH_BYTES + TALK_BYTES }
        first.immediate shouldBe if (withNumber) first.sourceQueuePair else null
        datagrams.sender(first, memory.memory()).use { sendAll(datagrams, it) }
        delay(1.seconds) // if our answer was lost the client asks again, and its datagrams may be lost, too
    }

// The other member sends its messages, then this one.

private suspend fun Talk.meetInGroup() {
    join { awaitMessages(GRH_BYTES) }.use { member ->
        takeAll(GRH_BYTES)
        sendAll { member.queuePair.send(memory[OUT, TALK_BYTES.toLong()], member.group) }
    }
}
