package org.kverbs.cli.pingpong

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import io.kotest.property.Arb
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.long
import io.kotest.property.checkAll
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.ServerSocket
import java.net.Socket
import java.util.concurrent.CompletableFuture
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

private const val ADDRESS = "0001:00002a:abcdef:00000000000000000000ffff0a630001\u0000"
private val rules = PingPongOptions().rules()
private val endpoint = QueuePairEndpoint(1, Gid.parse("10.99.0.1"), 0x2a, 0xabcdef, 0, QKEY)

/** A TCP connection: our end does [ours], and the peer, in this thread, [theirs]. */
private fun <T> meet(
    timeout: Duration = 1.minutes,
    ours: Handshake.() -> T,
    theirs: (Socket) -> Unit,
): Result<T> =
    ServerSocket(0, 1, InetAddress.getLoopbackAddress()).use { server ->
        val result =
            CompletableFuture.supplyAsync {
                runCatching { Handshake(Socket(server.inetAddress, server.localPort), timeout).use { it.ours() } }
            }
        server.accept().use(theirs)
        result.get()
    }

private fun Socket.say(text: String) = getOutputStream().write(text.toByteArray(Charsets.ISO_8859_1))

private fun Socket.hear(count: Int) = getInputStream().readNBytes(count).toString(Charsets.ISO_8859_1)

class HandshakeSpec :
    FunSpec({
        test("should write an address as the C programs do") {
            Handshake.addressText(endpoint) shouldBe ADDRESS
        }

        test("should read what it wrote, whatever the address") {
            checkAll(
                Arb.int(0..0xffff),
                Arb.int(0..0xffffff),
                Arb.int(0..0xffffff),
                Arb.long(),
                Arb.long(),
            ) { lid, qpn, psn, prefix, id ->
                val any = QueuePairEndpoint(lid, Gid(prefix, id), qpn, psn, 0, QKEY)
                Handshake.parseAddress(Handshake.addressText(any).encodeToByteArray()) shouldBe any
            }
        }

        listOf(
            "no NUL at the end" to ADDRESS.dropLast(1) + "0",
            "a NUL too early" to ADDRESS.take(20) + "\u0000" + ADDRESS.drop(21),
            "another separator" to ADDRESS.replace(':', '.'),
            "no hexadecimal digits" to ADDRESS.replace('f', 'g'),
            "a sign" to "-001" + ADDRESS.drop(4),
            "blanks" to "   1" + ADDRESS.drop(4),
            "a digit too few" to ADDRESS.drop(1),
            "nothing" to "",
        ).forEach { (what, text) ->
            test("should refuse an address with $what") {
                shouldThrow<PingPongException> { Handshake.parseAddress(text.toByteArray(Charsets.ISO_8859_1)) }
                    .message shouldContain "LLLL:QQQQQQ:PPPPPP:"
            }
        }

        test("should refuse arbitrary bytes with a message that can't drive a terminal") {
            checkAll(Arb.byteArray(Arb.int(0..200), Arb.byte())) { bytes ->
                val message = shouldThrow<PingPongException> { Handshake.parseAddress(bytes) }.message!!
                message.find { it !in ' '..'~' }.shouldBeNull()
                message.length shouldBeLessThan 200
            }
        }

        test("should as a client send its address, read the server's, say done and hang up") {
            meet(ours = { asClient(endpoint, rules).first }) {
                it.hear(52) shouldBe ADDRESS
                it.say(ADDRESS.replace("00002a", "00002b"))
                it.hear(6) shouldBe "done\u0000"
            }.getOrThrow().queuePairNumber() shouldBe 0x2b
        }

        test("should as a server connect before it answers") {
            var connected = false
            meet(ours = { asServer(endpoint, rules) { connected = true } }) {
                it.say(ADDRESS.replace("00002a", "00002b"))
                it.hear(52) shouldBe ADDRESS
                connected shouldBe true
                it.say("done\u0000")
            }.getOrThrow().first.queuePairNumber() shouldBe 0x2b
        }

        test("should as a client tell its rules to a server that tells its own, and else think it one of rdma-core") {
            meet(ours = { asClient(endpoint, rules) }) {
                it.hear(52)
                it.say(ADDRESS)
                it.hear(5)
                it.say(rules.copy(size = 7).toLine())
                it.hear(rules.toLine().length) shouldBe rules.toLine()
            }.getOrThrow().second shouldBe rules.copy(size = 7)
            for (said in listOf("", "something else\n", "x".repeat(1000))) {
                meet(ours = { asClient(endpoint, rules) }) {
                    it.say(ADDRESS + said)
                    it.hear(57)
                    it.getInputStream().read() shouldBe -1 // as a C server, it waits for the end of the connection
                }.getOrThrow().second shouldBe null
            }
        }

        test("should as a server tell its rules to a client that said done, which may be gone then") {
            meet(ours = { asServer(endpoint, rules) {} }) {
                it.say(ADDRESS + "done\u0000")
                it.hear(52 + rules.toLine().length) shouldBe ADDRESS + rules.toLine()
                it.say(rules.toLine())
            }.getOrThrow().second shouldBe rules
            meet(ours = { asServer(endpoint, rules) {} }) {
                it.say(ADDRESS)
                it.hear(52)
                it.say("done\u0000")
            }.getOrThrow().second shouldBe null
        }

        test("should put together an address that comes in pieces") {
            meet(ours = { asClient(endpoint, rules).first }) { socket ->
                socket.tcpNoDelay = true
                ADDRESS.chunked(7).forEach {
                    socket.say(it)
                    Thread.sleep(5)
                }
            }.getOrThrow() shouldBe endpoint
        }

        test("should say how much came when the peer hangs up early") {
            val failure = meet(ours = { asClient(endpoint, rules) }) { it.say(ADDRESS.take(30)) }.exceptionOrNull()
            (failure as PingPongException).message shouldContain "after 30 of 52 bytes"
        }

        test("should refuse another word than done") {
            val failure =
                meet(ours = { asServer(endpoint, rules) {} }) {
                    it.say(ADDRESS)
                    it.hear(52)
                    it.say("\u001b[2J!")
                }.exceptionOrNull()
            (failure as PingPongException).message shouldBe
                "the client ended the exchange of addresses with \"?[2J!\", not \"done\""
        }

        test("should end in time when the peer says nothing, and when its bytes drip") {
            listOf("", ADDRESS).forEach { drops ->
                val result =
                    meet(timeout = 300.milliseconds, ours = { asClient(endpoint, rules).first }) { socket ->
                        socket.tcpNoDelay = true
                        socket.soTimeout = 60_000 // hangs up on one that waits for ever, which then has another message
                        runCatching {
                            drops.forEach {
                                socket.say("$it")
                                Thread.sleep(200) // 10 s for all of them, each sooner than the timeout
                            }
                        }
                        runCatching { socket.getInputStream().readAllBytes() }
                    }
                result
                    .exceptionOrNull()
                    .shouldBeInstanceOf<PingPongException>()
                    .message shouldContain "nothing came within 300ms (--timeout)"
            }
        }

        test("should say that nobody listens, and that nobody came") {
            Socket().use {
                it.bind(InetSocketAddress(InetAddress.getLoopbackAddress(), 0)) // and so nobody else can listen there
                shouldThrow<PingPongException> { Handshake.connect("127.0.0.1", it.localPort, 1.seconds) }
                    .message shouldContain "--listen"
            }
            shouldThrow<PingPongException> { Handshake.connect("no.such.host.invalid", 1, 1.seconds) }
                .message shouldBe "there is no host no.such.host.invalid"
            // At port 0, which stands for any that is free.
            shouldThrow<PingPongException> { Handshake.accept(Peer.Client(0), 50.milliseconds) }
                .message shouldContain "no client came to TCP port 0"
        }

        test("should name the port that another program listens at") {
            ServerSocket(0).use {
                shouldThrow<PingPongException> { Handshake.accept(Peer.Client(it.localPort), 1.seconds) }
                    .message shouldContain "can't listen at TCP port ${it.localPort}: Address already in use; choose"
            }
        }
    })
