package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.RdmaException
import org.kverbs.SendRequests
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.dsl.RC
import org.kverbs.dsl.RemoteSrq
import org.kverbs.dsl.XRC_SEND
import org.kverbs.dsl.fetchAndAdd
import org.kverbs.dsl.get
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.send
import org.kverbs.dsl.write
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.channels.ServerSocketChannel
import java.nio.channels.SocketChannel

class XrcSpec :
    FunSpec({
        timeout = 60_000

        test("should bring each message to the queue that it names, with the number of the receiving queue pair") {
            XrcBench().use { bench ->
                val (client, receiver) = bench.sender()
                val orders = bench.queue()
                val news = bench.queue()
                coroutineScope {
                    val order = async { orders.receive(bench.region[1024, 64]) }
                    val item = async { news.receive(bench.region[2048, 64]) }
                    client.send(bench.text("news"), news.remote())
                    client.sendWithImmediate(bench.text("order", 64), orders.remote(), 7)
                    order.await().let { listOf(it.length, it.immediate, it.queuePairNumber) } shouldBe
                        listOf(5L, 7, receiver.number())
                    item.await().length shouldBe 4
                }
                bench.textAt(1024, 5) shouldBe "order"
                bench.textAt(2048, 4) shouldBe "news"
            }
        }

        test("should write, read, count, and tell the queue of a write with immediate data") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender()
                val queue = bench.queue()
                val srq = queue.remote()
                val remote = bench.region.remote()
                client.write(bench.text("over there"), to = remote, srq = srq, offset = 100)
                bench.textAt(100, 10) shouldBe "over there"
                client.read(remote, into = bench.region[1000, 10], srq = srq, offset = 100)
                bench.textAt(1000, 10) shouldBe "over there"
                bench.region.memory().set(JAVA_LONG, 2000, 40)
                client.fetchAndAdd(remote, 2, srq, offset = 2000) shouldBe 40
                client.compareAndSwap(remote, compare = 42, swap = 7, srq = srq, offset = 2000) shouldBe 42
                bench.region.memory().get(JAVA_LONG, 2000) shouldBe 7
                client.writeEmpty(remote, srq)
                val told = queue.postReceive(bench.region[3000, 8])
                client.writeWithImmediate(bench.text("!"), to = remote, srq = srq, immediate = 9, offset = 200)
                told.await().let { listOf(it.immediate, it.isInBuffer) } shouldBe listOf(9, false)
                val again = queue.postReceive(bench.region[3000, 8])
                client.writeWithImmediate(remote, srq, immediate = 10)
                again.await().immediate shouldBe 10
                val empty = queue.postReceive(bench.region[3000, 8])
                client.sendEmpty(srq)
                empty.await().length shouldBe 0
                val noted = queue.postReceive(bench.region[3000, 8])
                client.sendWithImmediate(srq, immediate = 11)
                noted.await().immediate shouldBe 11
            }
        }

        test("should send to several queues in one batch") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender()
                val queues = List(3) { bench.queue() }
                val received = queues.mapIndexed { i, it -> it.postReceive(bench.region[1024L + 64 * i, 64]) }
                client.batch {
                    queues.forEach { send(bench.region[0, 8], it.remote()) }
                    fetchAndAdd(bench.region.remote(), 1, bench.region[512, 8], queues[0].remote(), offset = 2000)
                }
                received.awaitAll().map { it.length } shouldBe listOf(8L, 8, 8)
            }
        }

        test("should bring the messages of many senders to many coroutines at a few queues, each message once") {
            XrcBench().use { bench ->
                val senders = List(8) { bench.sender { maxSendWr(4) } }
                val queues = List(3) { bench.queue { maxWr(4) } }
                val numbers =
                    coroutineScope {
                        val receivers =
                            List(12) { i ->
                                async {
                                    List(40) {
                                        val at = 8192L + 64 * i
                                        val message = queues[i % 3].receive(bench.region[at, 64])
                                        val number = bench.region.memory().get(JAVA_LONG, at)
                                        message.queuePairNumber shouldBe senders[(number / 60).toInt()].second.number()
                                        number
                                    }
                                }
                            }
                        senders.forEachIndexed { s, (sender, _) ->
                            launch {
                                List(60) { m ->
                                    val number = 60L * s + m
                                    launch {
                                        val at = 16384 + 8 * number
                                        bench.region.memory().set(JAVA_LONG, at, number)
                                        sender.send(bench.region[at, 8], queues[m % 3].remote())
                                    }
                                }.joinAll()
                            }
                        }
                        receivers.awaitAll().flatten()
                    }
                numbers.shouldContainExactlyInAnyOrder(List(480) { it.toLong() })
            }
        }

        test("should suspend senders while the send queue is full, and let cancelled ones go") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender { maxSendWr(2) }
                val queue = bench.queue()
                coroutineScope {
                    // No receive is posted: the device retries, and the requests stay under way.
                    val sends =
                        List(6) { launch(start = UNDISPATCHED) { client.send(bench.text("message"), queue.remote()) } }
                    delay(20)
                    sends.count { it.isActive } shouldBe 6
                    sends[4].cancel()
                    sends[4].join()
                    repeat(5) { queue.receive(bench.region[1024, 64]).length shouldBe 7 }
                    sends.joinAll()
                    withTimeoutOrNull(50) { queue.receive(bench.region[1024, 64]) } shouldBe null
                }
            }
        }

        test("should give the message that comes to a cancelled receive to the next") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender()
                val queue = bench.queue()
                coroutineScope {
                    launch(start = UNDISPATCHED) { queue.receive(bench.region[1024, 64]) }.cancel()
                }
                client.send(bench.text("kept"), queue.remote())
                queue.receive(bench.region[2048, 64]).length shouldBe 4
                bench.textAt(2048, 4) shouldBe "kept"
            }
        }

        test("should end the waits of a queue, and of its senders, when their domain is closed") {
            XrcBench().use { bench ->
                val queue = bench.queue()
                val (client, _) = bench.sender { maxSendWr(1) }
                coroutineScope {
                    val waiting = async(start = UNDISPATCHED) { runCatching { queue.receive(bench.region[0, 8]) } }
                    yield()
                    bench.domain.close()
                    waiting.await().exceptionOrNull()!!.message shouldContain "was closed"
                }
                shouldThrow<IllegalStateException> { queue.receive(bench.region[0, 8]) }
                    .message shouldContain "was closed"
                // The receiving queue pair has gone, so that nobody answers the sender.
                shouldThrow<WorkCompletionException> { client.send(bench.text("?"), RemoteSrq(1)) }
                    .status() shouldBe WorkCompletionStatus.RETRY_EXC_ERR
                shouldThrow<RdmaException> { client.send(bench.text("?"), RemoteSrq(1)) }
            }
        }

        test("should end the waits when the dispatcher is closed, and close the queue with it") {
            XrcBench().use { bench ->
                val queue = bench.queue()
                coroutineScope {
                    val waiting = async(start = UNDISPATCHED) { runCatching { queue.receive(bench.region[0, 8]) } }
                    bench.dispatcher.close()
                    waiting.await().exceptionOrNull()!!.message shouldContain "was closed"
                }
                queue.queue.isOpen shouldBe false
                bench.domain.isOpen shouldBe true
            }
        }

        test("should fail a send to a queue that the domain does not have") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender()
                shouldThrow<WorkCompletionException> { client.send(bench.text("?"), RemoteSrq(0xfffff)) }
                    .status() shouldBe WorkCompletionStatus.REM_INV_REQ_ERR
            }
        }

        test("should refuse a number of more than 24 bits, in every operation, and go on") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender { maxSendWr(2) }
                val queue = bench.queue()
                val remote = bench.region.remote()
                for (number in listOf(-1, 0x1000000, Int.MIN_VALUE)) {
                    repeat(3) {
                        shouldThrow<RuntimeException> { client.send(bench.text("?"), RemoteSrq(number)) }
                        shouldThrow<RuntimeException> { client.fetchAndAdd(remote, 1, RemoteSrq(number)) }
                        shouldThrow<RuntimeException> {
                            client.batch {
                                write(
                                    bench.text("?"),
                                    remote,
                                    RemoteSrq(number),
                                )
                            }
                        }
                    }
                }
                client.fetchAndAdd(remote, 1, queue.remote(), offset = 2000) shouldBe 0
            }
        }

        test("should refuse a queue with a completion queue of its own, which nobody polls, and leave none behind") {
            XrcBench().use { bench ->
                val cq = bench.device.completionQueue(16)
                shouldThrow<IllegalArgumentException> { bench.dispatcher.srq(bench.pd) { xrc(bench.domain, cq) } }
                    .message shouldContain "dispatcher.srq(pd, domain)"
                shouldThrow<IllegalArgumentException> {
                    bench.dispatcher.srq(bench.pd, bench.domain) { xrc(bench.domain, cq) }
                }.message shouldContain "leave out"
                shouldThrow<IllegalArgumentException> { bench.dispatcher.srq(bench.pd, bench.domain) { tags(4, cq) } }
                    .message shouldContain "exclude each other"
                cq.close() // no queue was left that uses it
            }
        }

        test("should refuse a queue of XRC for a queue pair that takes receives from it") {
            XrcBench().use { bench ->
                shouldThrow<IllegalArgumentException> { bench.dispatcher.qp(bench.pd, RC, bench.queue()) }
                    .message shouldContain "of XRC"
                shouldThrow<IllegalArgumentException> {
                    bench.dispatcher.qp(bench.pd, XRC_SEND, bench.dispatcher.srq(bench.pd))
                }.message shouldContain "receives nothing"
                shouldThrow<IllegalArgumentException> { bench.dispatcher.qp(bench.pd, XRC_SEND) { maxRecvWr(4) } }
                    .message shouldContain "receives nothing"
            }
        }

        test("should say that a basic queue has no number") {
            XrcBench().use { bench ->
                shouldThrow<UnsupportedVerbException> { bench.dispatcher.srq(bench.pd).remote() }
            }
        }

        test("should give the room of failed queues back") {
            XrcBench().use { bench ->
                val other = openDevice("embedded0")
                other.use {
                    val foreign = it.xrcDomain()
                    repeat(100) {
                        shouldThrow<IllegalArgumentException> {
                            bench.dispatcher.srq(
                                bench.pd,
                                foreign,
                            ) { maxWr(4000) }
                        }
                    }
                }
                bench.queue { maxWr(4000) }.close()
            }
        }

        test("should connect over TCP, where the note tells the numbers of the queues") {
            XrcBench().use { bench ->
                val queue = bench.queue()
                val client = bench.dispatcher.qp(bench.pd, XRC_SEND)
                val receiver = bench.domain.queuePair()
                val listener = ServerSocketChannel.open()
                listener.use {
                    listener.bind(InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    SocketChannel.open(listener.localAddress).use { near ->
                        listener.accept().use { far ->
                            coroutineScope {
                                val serving =
                                    async {
                                        var received = queue.postReceive(bench.region[1024, 64])
                                        receiver.connectOver(far, "srq ${queue.remote().number}") {
                                            received = queue.postReceive(bench.region[2048, 64])
                                        } to received
                                    }
                                val note = client.connectOver(near, "a client")
                                client.send(bench.text("one"), RemoteSrq(note.substringAfter(' ').toInt()))
                                client.send(bench.text("two"), queue.remote())
                                val (told, second) = serving.await()
                                told shouldBe "a client"
                                second.await().length shouldBe 3
                                bench.textAt(2048, 3) shouldBe "two"
                            }
                        }
                    }
                }
            }
        }

        test("should say what a plain post forgets: the name of the queue") {
            XrcBench().use { bench ->
                val (client, _) = bench.sender()
                val requests = SendRequests()
                requests.send(1).from(bench.text("?"))
                shouldThrow<WorkRequestException> { client.queuePair.post(requests) }
            }
        }
    })
