package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.AddressHandle
import org.kverbs.ConnectionEventType
import org.kverbs.QueuePairType
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletion
import org.kverbs.acceptance.contract.GRH_BYTES
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.take
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteOrder

/** What the programs of rdma-core say to each other once they are connected, with the counts that the specs give them. */
private val parts: Map<Pair<String, String>, Connecting.(InetSocketAddress) -> Unit> =
    mapOf(
        ("rping" to "client") to Connecting::pingAsClient,
        ("rping" to "server") to { pingAsServer(it.port) },
        ("ucmatose" to "client") to Connecting::matoseAsClient,
        ("ucmatose" to "server") to { matoseAsServer(it.port) },
        ("udaddy" to "client") to Connecting::daddyAsClient,
        ("udaddy" to "server") to { daddyAsServer(it.port) },
        ("nobody" to "client") to {
            ask(it) {}
            expect(ConnectionEventType.REJECTED).status() shouldBe INVALID_SERVICE_ID
        },
    )

/** Why a kernel rejects that has no listener (IBA volume 1, 12.6.7.2). */
private const val INVALID_SERVICE_ID = 8

/**
 * Plays the counterpart of a program of rdma-core, until both are done.
 *
 * @param program its name, and the [role] here is the other one: `client` or `server`
 * @param address the program's if it is the server
 * @param listening is called when a client may come
 */
internal fun talk(
    program: String,
    role: String,
    address: String,
    port: Int,
    listening: () -> Unit,
) {
    val part = checkNotNull(parts[program to role]) { "no part of a $role of $program" }
    Connecting(if (program == "udaddy") QueuePairType.UD else QueuePairType.RC, listening).use {
        it.part(InetSocketAddress(InetAddress.ofLiteral(address), port))
    }
}

internal const val PINGS = 10
internal const val PING_BYTES = 1000
internal const val TALK_MESSAGES = 10
internal const val TALK_BYTES = 100

private val BIG_LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN)
private val BIG_INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN)

// rping: a client tells in 16 bytes where a buffer of its is, the server reads it, or writes back what it read.
private const val NOTE_BYTES = 16L
private const val SENT = 64L
private const val DATA = 4096L
private const val BACK = 8192L

private fun Connecting.receive(
    offset: Long = 0,
    bytes: Long = NOTE_BYTES,
) {
    val requests = ReceiveRequests()
    requests.receive(offset).into(end.mr.slice(offset, bytes))
    end.qp.postReceive(requests)
}

private fun Connecting.sendNote(
    address: Long = 0,
    bytes: Int = 0,
) {
    val note = end.mr.memory().asSlice(SENT, NOTE_BYTES)
    note.set(BIG_LONG, 0, address)
    note.set(BIG_INT, Long.SIZE_BYTES.toLong(), end.mr.rkey())
    note.set(BIG_INT, Long.SIZE_BYTES + Int.SIZE_BYTES.toLong(), bytes)
    end.post { send(1).from(end.mr.slice(SENT, NOTE_BYTES)).signaled() }
}

/** Takes completions of all that was posted: those of the own requests and the peer's note, in any order. */
private fun Connecting.complete(
    own: Int,
    notes: Int,
): List<WorkCompletion> {
    val all = end.cq.take(own + notes).onEach { it.orThrow() }
    withClue(all) { all.count { it.opcode().isReceive } shouldBe notes }
    return all
}

private fun Connecting.pingAsClient(to: InetSocketAddress) {
    connect(to) { receive() }
    repeat(PINGS) { round ->
        val text = ByteArray(PING_BYTES) { if (it == PING_BYTES - 1) 0 else ('A' + (it + round) % 26).code.toByte() }
        end.mr.memory().asSlice(DATA).copyFrom(MemorySegment.ofArray(text))
        for (offset in listOf(DATA, BACK)) {
            sendNote(end.mr.memory().address() + offset, PING_BYTES)
            complete(1, 1)
            receive()
        }
        val back = end.mr.memory().asSlice(BACK, PING_BYTES.toLong()).toArray(ValueLayout.JAVA_BYTE)
        withClue("ping data of round $round") { back shouldBe text }
    }
    disconnect()
}

private fun Connecting.pingAsServer(port: Int) {
    serve(port) { receive() }
    repeat(PINGS) { round ->
        // The client may be sooner with its next note than our last one is done.
        var note = peerNote(own = if (round == 0) 0 else 1)
        withClue("bytes of ping $round") { note.bytes shouldBe PING_BYTES }
        end.post { read(2, note.address, note.rkey).into(end.mr.slice(DATA, PING_BYTES.toLong())).signaled() }
        complete(1, 0)
        val text = end.mr.memory().getString(DATA)
        withClue("what the client sends") { text.startsWith("rdma-ping-$round: ") shouldBe true }
        receive()
        sendNote()
        note = peerNote(own = 1)
        end.post { write(3, note.address, note.rkey).from(end.mr.slice(DATA, text.length + 1L)).signaled() }
        complete(1, 0)
        receive()
        sendNote()
    }
    complete(1, 0)
    awaitDisconnect()
}

private class Note(
    val address: Long,
    val rkey: Int,
    val bytes: Int,
)

private fun Connecting.peerNote(own: Int = 0): Note {
    complete(own, 1)
    val note = end.mr.memory()
    return Note(note.get(BIG_LONG, 0), note.get(BIG_INT, 8), note.get(BIG_INT, 12))
}

// ucmatose: the server sends its messages, then the client; the server ends it.

private fun Connecting.receiveAll(bytes: Int) = repeat(TALK_MESSAGES) { receive(it * MESSAGE_ROOM, bytes.toLong()) }

private const val MESSAGE_ROOM = 1024L
private const val OUT = 32_768L

private fun Connecting.sendAll() {
    repeat(TALK_MESSAGES) { i -> end.post { send(i.toLong()).from(end.mr.slice(OUT, TALK_BYTES.toLong())).signaled() } }
    complete(TALK_MESSAGES, 0)
}

private fun Connecting.takeAll() {
    complete(0, TALK_MESSAGES).forEach { it.byteLength() shouldBe TALK_BYTES }
}

private fun Connecting.matoseAsClient(to: InetSocketAddress) {
    connect(to) { receiveAll(TALK_BYTES) }
    takeAll()
    sendAll()
    awaitDisconnect()
}

private fun Connecting.matoseAsServer(port: Int) {
    serve(port) { receiveAll(TALK_BYTES) }
    // The client may be faster than our sends are done.
    repeat(TALK_MESSAGES) { i -> end.post { send(i.toLong()).from(end.mr.slice(OUT, TALK_BYTES.toLong())).signaled() } }
    complete(TALK_MESSAGES, TALK_MESSAGES)
    disconnect()
}

// udaddy: the client sends its messages, each with its queue pair's number, and the server as many back.

private fun Connecting.sendDatagrams(
    to: AddressHandle,
    queuePair: Int,
    qkey: Int,
) {
    repeat(TALK_MESSAGES) { i ->
        end.post {
            sendWithImmediate(i.toLong(), end.qp.number())
            from(end.mr.slice(OUT, TALK_BYTES.toLong())).to(to, queuePair, qkey).signaled()
        }
    }
}

private fun Connecting.daddyAsClient(to: InetSocketAddress) {
    val peer = connect(to) { receiveAll(TALK_BYTES + GRH_BYTES.toInt()) }
    val handle = pd.addressHandle(checkNotNull(peer.address()))
    sendDatagrams(handle, peer.queuePairNumber(), peer.qkey())
    complete(TALK_MESSAGES, TALK_MESSAGES)
}

private fun Connecting.daddyAsServer(port: Int) {
    serve(port) { receiveAll(TALK_BYTES + GRH_BYTES.toInt()) }
    val first = complete(0, TALK_MESSAGES).first()
    val from = pd.addressOf(PORT, first, end.mr.memory().asSlice(first.workRequestId()))
    sendDatagrams(pd.addressHandle(from), first.immediate(), UDP_QKEY)
    complete(TALK_MESSAGES, 0)
    Thread.sleep(1000) // the client asks again what we answered if that was lost, and its datagrams may be
}

/** `RDMA_UDP_QKEY` of rdma_cma.h. */
private const val UDP_QKEY = 0x01234567
