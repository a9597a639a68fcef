package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.kverbs.Diagnostics
import org.kverbs.QueuePair
import org.kverbs.attributes.AccessFlag
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.dsl.MiB
import java.util.concurrent.CountDownLatch
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

class RdmaServerSpec :
    FunSpec({
        timeout = 120_000

        test("should list its connections with both addresses of each") {
            bound { server, host, address ->
                server.serve(this, ECHO)
                server.connections.shouldBeEmpty()
                val client = host.connectMessages(address)
                client.ask("up") shouldBe "up"
                val served = server.connections.single()
                served.isOpen shouldBe true
                client.isOpen shouldBe true
                served.remoteAddress shouldBe client.localAddress
                served.localAddress shouldBe client.remoteAddress
                client.disconnect()
                client.isOpen shouldBe false
                withTimeout(20.seconds) { while (server.connections.isNotEmpty()) delay(1) }
                served.isOpen shouldBe false
            }
        }

        test("should run handlers concurrently by default, even if the caller has one thread") {
            runBlocking {
                val both = CountDownLatch(2)
                bound { server, host, address ->
                    server.serve(this) {
                        both.countDown()
                        both.await() // blocks a thread until the other handler runs
                        it.send(ByteArray(1))
                    }
                    List(2) { async { host.connectMessages(address).use { it.receive().size } } }.forEach {
                        it.await() shouldBe
                            1
                    }
                }
            }
        }

        for ((what, failure) in listOf<Pair<String, suspend () -> Unit>>(
            "an exception" to { error("planted") },
            "an Error" to { throw StackOverflowError("planted") },
            "a timeout of its own" to { withTimeout(1) { awaitCancellation() } },
        )) {
            test("should report a handler that ends by $what, end its connection, and keep serving") {
                val failures = Channel<Throwable>(Channel.UNLIMITED)
                bound({ onFailure { failures.trySend(it) } }) { server, host, address ->
                    server.serve(this) {
                        if (it.receive().isEmpty()) failure()
                        it.send(ByteArray(1))
                    }
                    val bad = host.connectMessages(address)
                    bad.send(ByteArray(0))
                    shouldThrow<Exception> { bad.receive() }
                    val told = withTimeout(20.seconds) { failures.receive() }
                    if (told !is TimeoutCancellationException) told.message shouldBe "planted"
                    host.connectMessages(address).use {
                        it.send(ByteArray(1))
                        it.receive().size shouldBe 1
                    }
                }
            }
        }

        test("should log one line for a connection that fails, with the client's address, unless onFailure is set") {
            bound { server, host, address ->
                logged { log ->
                    server.serve(this) { error("planted") }
                    val lines = ArrayList<String>()
                    withTimeout(20.seconds) {
                        while (log.lines.isEmpty()) { // another test can have logged a line less than a second ago
                            val client = host.connectMessages(address)
                            client.awaitEnd()
                            client.close()
                            val clientIs = checkNotNull(client.localAddress).run { "${this.address.hostAddress}:$port" }
                            lines += "the connection from $clientIs failed: java.lang.IllegalStateException: planted"
                            delay(100)
                        }
                    }
                    lines.count { log.lines.first().startsWith(it) } shouldBe 1
                }
            }
        }

        test("should accept at most maxConnections clients, and the next one when a client has left") {
            val failures = Channel<Throwable>(Channel.UNLIMITED)
            bound({
                maxConnections(2)
                onFailure { failures.trySend(it) }
            }) { server, host, address ->
                server.serve(this, ECHO)
                val clients = List(2) { host.connectMessages(address) }
                clients.forEach { it.ask("in") shouldBe "in" }
                val refusal = shouldThrow<ConnectionRejectedException> { host.connectMessages(address) }
                refusal.privateData().decodeToString() shouldStartWith "full"
                failures.receive().message shouldContain "all the 2 connections that it takes"
                clients[0].disconnect()
                withTimeout(20.seconds) { while (server.connections.size > 1) delay(1) }
                val next = host.connectMessages(address)
                next.ask("in") shouldBe "in"
                next.disconnect()
                clients[1].disconnect()
                withTimeout(20.seconds) { while (server.connections.isNotEmpty()) delay(1) }
                server.stats shouldBe
                    ServerStats(connections = 0, halfOpen = 0, accepted = 3, rejected = 1, failed = 0, memory = 0)
            }
        }

        test("should let authorize decide by the client's private data, before anything is allocated for the client") {
            val queuePairs = Channel<Int>(Channel.UNLIMITED)
            diagnosed {
                bound({
                    authorize { request ->
                        queuePairs.send(Diagnostics.openResources().count { it.resource() is QueuePair })
                        request.privateData.decodeToString().trimEnd('\u0000') == "let me in"
                    }
                    onFailure {}
                }) { server, host, address ->
                    server.serve(this, ECHO)
                    val refusal =
                        shouldThrow<ConnectionRejectedException> {
                            host.connectMessages(
                                address,
                            ) { privateData("hm".encodeToByteArray()) }
                        }
                    refusal.privateData().decodeToString() shouldStartWith "not authorized"
                    refusal.message shouldContain "The peer's program said no: not authorized."
                    queuePairs.receive() shouldBe 1 // the client's queue pair
                    host.connectMessages(address) { privateData("let me in".encodeToByteArray()) }.use {
                        it.ask("in") shouldBe
                            "in"
                    }
                }
            }
        }

        test("should reject a client whose authorization throws or takes too long") {
            bound({
                timeout(1.seconds)
                authorize { request ->
                    if (request.privateData[0] == 1.toByte()) {
                        error("planted")
                    } else {
                        awaitCancellation()
                    }
                }
                onFailure {}
            }) { server, host, address ->
                server.serve(this, ECHO)
                for (first in 0..1) {
                    shouldThrow<ConnectionRejectedException> {
                        host.connectMessages(address) {
                            timeout(1.minutes)
                            privateData(byteArrayOf(first.toByte()))
                        }
                    }
                }
            }
        }

        test(
            "should not let a client reach memory published to another client, nor a server memory published to " +
                "another server",
        ) {
            for (isShared in listOf(false, true)) {
                bound({ if (isShared) sharedDomain() }) { server, host, address ->
                    server.serve(this) {
                        val secret = it.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
                        secret.memory().setString(0, "secret")
                        it.publish("secret", secret)
                        it.receiveOrNull()
                    }
                    val one = host.connectMessages(address)
                    val other = host.connectMessages(address)
                    val secret = one.awaitRemote("secret")
                    secret.read(0, 6).decodeToString() shouldBe "secret"
                    val theirs = runCatching { other.channel.remote(secret.memory).read(0, 6).decodeToString() }
                    if (isShared) {
                        theirs.getOrThrow() shouldBe "secret"
                    } else {
                        theirs.exceptionOrNull()?.message shouldContain
                            "REM_ACCESS_ERR"
                    }
                    one.disconnect()
                    other.close()
                }
            }
        }

        test("should free the memory of a connection's domain with the connection") {
            diagnosed {
                bound { server, host, address ->
                    server.serve(this) {
                        it.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                        it.send(it.receive())
                    }
                    // The devices are open, and the shared resources exist for several connections at a time.
                    val first = List(4) { host.connectMessages(address).also { it.ask("first") } }
                    first.forEach { it.close() }
                    withTimeout(20.seconds) { while (server.connections.isNotEmpty()) delay(1) }
                    val before = Diagnostics.openResources().size
                    repeat(10) {
                        host.connectMessages(address).use {
                            it.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                            it.ask("again")
                        }
                        // One at a time: for more than at first, what they share would grow, and stay.
                        withTimeout(20.seconds) { while (server.connections.isNotEmpty()) delay(1) }
                    }
                    withTimeout(20.seconds) { while (Diagnostics.openResources().size > before) delay(1) }
                }
            }
        }

        test("should tell a client of another protocol why it is rejected") {
            bound({ onFailure { } }) { server, host, address ->
                server.serve(this, ECHO)
                val refusal = shouldThrow<ConnectionRejectedException> { host.connect(address) }
                refusal.message shouldContain "no message channel of this version"
            }
        }

        test("should refuse limits that contradict each other, and leave the port free") {
            rdmaHost { provider("embedded") }.use { host ->
                val address = host.bind(0).use { it.address }
                shouldThrow<IllegalArgumentException> {
                    host.bind(address) {
                        maxMessageSize(1.MiB)
                        maxMemoryPerConnection(1.MiB)
                    }
                }.message shouldContain "maxMemoryPerConnection(1048576)"
                shouldThrow<IllegalArgumentException> { host.bind(address) { maxMemory(1.MiB) } }.message shouldContain
                    "maxMemory(1048576)"
                host.bind(address).close()
            }
        }

        test(
            "should accept clients and their messages although one client waits, or waited, for more memory than " +
                "there is",
        ) {
            val mayReceive = CompletableDeferred<Unit>()
            bound({
                maxMemory(8.MiB)
                maxMessageSize(4.MiB)
                onFailure {}
            }) { server, host, address ->
                server.serve(this) {
                    if (it.receive().isEmpty()) mayReceive.await()
                    for (message in it.incoming) it.send(message)
                }
                val slow = host.connectMessages(address)
                slow.send(ByteArray(0))
                slow.send(ByteArray(4 * 1024 * 1024))
                withTimeout(20.seconds) { while (server.stats.memory < 4.MiB) delay(1) }
                val large = host.connectMessages(address)
                large.send(ByteArray(0))
                large.send(ByteArray(4 * 1024 * 1024))
                val early = host.connectMessages(address)
                large.close()
                early.send(ByteArray(1))
                early.ask("x".repeat(100_000)).length shouldBe 100_000
                early.disconnect()
                mayReceive.complete(Unit)
                slow.receive().size shouldBe 4 * 1024 * 1024
                slow.disconnect()
                withTimeout(20.seconds) { while (server.stats.memory > 0) delay(1) }
            }
        }

        test(
            "should not wait for memory for messages after the handler has returned",
        ) {
            val isHeld = CompletableDeferred<Unit>()
            val mayReturn = CompletableDeferred<Unit>()
            bound({
                maxMemory(8.MiB)
                maxMessageSize(4.MiB)
            }) { server, host, address ->
                server.serve(this) {
                    val first = it.receive()
                    if (first.isEmpty()) isHeld.await() else mayReturn.await()
                }
                val holding = host.connectMessages(address)
                holding.send(ByteArray(0))
                holding.send(ByteArray(4 * 1024 * 1024))
                withTimeout(20.seconds) { while (server.stats.memory < 4.MiB) delay(1) }
                val client = host.connectMessages(address)
                client.send(ByteArray(1))
                client.send(ByteArray(4 * 1024 * 1024))
                val served = server.endOf(client)
                withTimeout(20.seconds) { while (served.stats.waitingMessages == 0) delay(1) }
                mayReturn.complete(Unit)
                client.receiveOrNull() shouldBe null // the handler has returned
                client.send(ByteArray(4 * 1024 * 1024))
                client.finish() // throws if the server ends the connection before it has all messages
                client.disconnect()
                isHeld.complete(Unit)
                holding.disconnect()
                withTimeout(20.seconds) { while (server.stats.memory > 0) delay(1) }
            }
        }

        test("should count as received what the peer counts as sent, without credits and the like") {
            bound({ channel { receiveSlots(2) } }) { server, host, address ->
                server.serve(this) { for (message in it.incoming) it.send(message) }
                val client = host.connectMessages(address)
                repeat(20) {
                    client.send(ByteArray(if (it % 2 == 0) 100 else 1 shl 20))
                    client.receive()
                }
                val served = server.endOf(client)
                listOf(client.stats.sent, served.stats.received, served.stats.sent, client.stats.received) shouldBe
                    listOf(20L, 20L, 20L, 20L)
                client.disconnect()
            }
        }

        test("should report in figures what a connection holds and waits for") {
            bound({ channel { receiveSlots(2) } }) { server, host, address ->
                val mayReceive = CompletableDeferred<Unit>()
                server.serve(this) {
                    mayReceive.await()
                    for (message in it.incoming) it.send(message)
                }
                val client = host.connectMessages(address)
                val sending = launch { repeat(3) { client.send(ByteArray(1)) } }
                withTimeout(20.seconds) { while (client.stats.waitingSends == 0) delay(1) }
                client.stats shouldBe
                    ChannelStats(sent = 2, received = 0, credits = 0, waitingSends = 1, waitingMessages = 0)
                val served = server.endOf(client)
                withTimeout(20.seconds) { while (served.stats.waitingMessages < 2) delay(1) }
                served.stats.received shouldBe 2
                mayReceive.complete(Unit)
                sending.join()
                repeat(3) { client.receive() }
                client.disconnect()
            }
        }
    })
