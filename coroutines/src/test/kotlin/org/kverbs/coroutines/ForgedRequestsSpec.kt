package org.kverbs.coroutines

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.kverbs.Device
import org.kverbs.dsl.KiB
import org.kverbs.embedded.EmbeddedProvider
import org.kverbs.embedded.internal.cm.Mad
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.management.BufferPoolMXBean
import java.lang.management.ManagementFactory
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private const val REQUESTS = 3000
private const val FORGERS = 30
private const val MAD = 256

/** The default of [ServerBuilder.maxHalfOpen]. */
private const val HALF_OPEN = 128
private const val TCP_SERVICE = 0x0106_0000L
private val LIMIT = 60.seconds

/**
 * Another machine of the loopback network that requests connections and confirms none; it counts the datagrams that it
 * receives.
 */
private class Forger(
    private val address: InetAddress,
    private val target: InetAddress,
) : AutoCloseable {
    private val arena = Arena.ofShared()
    private val payload = arena.allocate(MAD.toLong(), 8)
    private val wire = arena.allocate(Packet.BUFFER_SIZE.toLong(), 8)
    private val packet = Packet(0)
    private val channel =
        DatagramChannel.open().apply {
            bind(InetSocketAddress(address, Icrc.UDP_PORT))
            configureBlocking(false)
        }

    fun ask(
        id: Int,
        port: Int,
    ) {
        val (own, server) = listOf(address, target).map { 0xffffL shl 32 or Integer.toUnsignedLong(number(it)) }
        val path = Message.Path(0, own, 0, server, 0, 0, 0, 64, 17)
        val data = ByteArray(92).also { it[1] = 0x40 }
        target.address.copyInto(data, 32) // the requested address, in the header of the RDMA IP CM service
        val request =
            Message.Req(
                id,
                TCP_SERVICE + port,
                id.toLong(),
                0,
                id,
                1,
                1,
                18,
                0,
                false,
                99,
                0,
                7,
                0xffff,
                3,
                7,
                15,
                false,
                path,
                data,
            )
        MemorySegment.copy(Mad(1, request).encode(), 0, payload, JAVA_BYTE, 0, MAD)
        packet.opcode = Opcode.UD_SEND_ONLY
        packet.pkey = 0xffff
        packet.destinationQp = 1
        packet.sourceQp = 1
        packet.qkey = 0x8001_0000.toInt()
        packet.payload = payload.address()
        packet.payloadLength = MAD
        val length = PacketCodec.encode(packet, wire.address())
        val icrc =
            Icrc().ofV4(
                number(address),
                number(target),
                Icrc.DONT_FRAGMENT,
                Icrc.UDP_PORT,
                Icrc.UDP_PORT,
                wire.address(),
                length,
            )
        Icrc.put(wire.address() + length, icrc)
        channel.send(
            wire.asSlice(0, length.toLong() + Icrc.LENGTH).asByteBuffer(),
            InetSocketAddress(target, Icrc.UDP_PORT),
        )
    }

    /** Returns the number of datagrams since the last call. */
    fun answers(): Int {
        val buffer = ByteBuffer.allocate(1024)
        return generateSequence { channel.receive(buffer.clear()) }.count()
    }

    override fun close() {
        channel.close()
        arena.close()
    }
}

private fun number(address: InetAddress) = ByteBuffer.wrap(address.address).getInt()

private fun device(address: String): Device =
    EmbeddedProvider("udp:$address").let {
        Device.of(it, it.devices().single())
    }

private fun directMemory(): Long =
    ManagementFactory.getPlatformMXBeans(BufferPoolMXBean::class.java).single { it.name == "direct" }.memoryUsed

private suspend fun talk(
    client: RdmaHost,
    server: InetSocketAddress,
) {
    val connection = client.connectMessages(server) { timeout(LIMIT) }
    connection.send("hello".encodeToByteArray())
    connection.incoming.receive().decodeToString() shouldBe "hello"
    connection.disconnect()
}

private suspend fun CoroutineScope.echo(
    host: RdmaHost,
    block: suspend (RdmaServer) -> Unit,
) {
    host.bind(0).use { server ->
        val serving = server.serve(this) { connection -> for (message in connection.incoming) connection.send(message) }
        block(server)
        serving.cancelAndJoin()
    }
}

class ForgedRequestsSpec :
    FunSpec({
        test(
            "should serve an honest client during and after $REQUESTS forged requests, with bounded memory, answers " +
                "and log lines",
        ) {
            val net = Random.nextInt(1, 250)
            val target = InetAddress.ofLiteral("127.78.$net.1")
            val forgers = List(FORGERS) { Forger(InetAddress.ofLiteral("127.78.$net.${it + 3}"), target) }
            val begin = TimeSource.Monotonic.markNow()
            rdmaHost { device(device("127.78.$net.1")) }.use { serving ->
                rdmaHost { device(device("127.78.$net.2")) }.use { honest ->
                    runBlocking(Dispatchers.Default) {
                        withTimeout(LIMIT * 3) {
                            logged { log ->
                                echo(serving) { echoing ->
                                    val server = InetSocketAddress(target, echoing.address.port)
                                    talk(honest, server)
                                    while (echoing.connections.isNotEmpty()) delay(1)
                                    val base = directMemory()
                                    val one = honest.connectMessages(server)
                                    val client = launch { repeat(3) { talk(honest, server) } }
                                    var most = 0L
                                    var answers = 0
                                    repeat(REQUESTS) {
                                        forgers[it % FORGERS].ask(it + 1, server.port)
                                        if (it % FORGERS == 0) {
                                            Thread.sleep(1)
                                            most = maxOf(most, directMemory())
                                            answers += forgers.sumOf(Forger::answers)
                                        }
                                    }
                                    client.join()
                                    talk(honest, server)
                                    repeat(30) {
                                        Thread.sleep(100)
                                        most = maxOf(most, directMemory())
                                        answers += forgers.sumOf(Forger::answers)
                                    }
                                    talk(honest, server)
                                    withClue("answers to $REQUESTS requests") { answers shouldBeLessThan REQUESTS }
                                    withClue("bytes for at most $HALF_OPEN connections") {
                                        most - base shouldBeLessThan HALF_OPEN * 256.KiB
                                    }
                                    val seconds = begin.elapsedNow().inWholeSeconds.toInt()
                                    withClue("log lines in $seconds s") {
                                        log.lines.size shouldBeLessThan
                                            2 * seconds + 10
                                    }
                                    one.close()
                                }
                            }
                        }
                    }
                }
            }
            forgers.forEach(Forger::close)
        }
    })
