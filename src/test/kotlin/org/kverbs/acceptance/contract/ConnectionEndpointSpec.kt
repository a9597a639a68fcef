package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.RdmaSystemException
import org.kverbs.RdmaTimeoutException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.cm.AddressHints
import org.kverbs.cm.AddressInfo
import org.kverbs.cm.ConnectionEndpoint
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.ConnectionTimeoutException
import org.kverbs.cm.EndpointOptions
import org.kverbs.cm.PortSpace
import java.time.Duration

/** Checks endpoints, whose calls wait: a client on one thread and a server on another. */
internal class ConnectionEndpointSpec :
    ContractSpec({
        case("should carry messages both ways between two endpoints, from an address alone") {
            endpointListener().use { listener ->
                val serving =
                    task {
                        listener.awaitRequest().use { server ->
                            val memory = server.messageRegion(64)
                            server.postReceive(7, memory.slice())
                            server.accept()
                            server.awaitReceive().shouldBeDone(7, RECV, server.queuePair(), bytes = 64)
                            val text = memory.slice().text()
                            memory.slice().text("$text, indeed")
                            server.postSend(8, memory.slice())
                            server.awaitSend().shouldBeDone(8, SEND, server.queuePair())
                            server.awaitEnd(LONG) shouldBe true
                        }
                    }
                ConnectionEndpoint.to(listener.address, endpoints).use { client ->
                    val memory = client.messageRegion(128)
                    client.postReceive(1, memory.slice(64, 64))
                    client.connect()
                    client.postSend(2, memory.slice(0, 64).text("Hello"))
                    client.awaitSend().workRequestId() shouldBe 2
                    client.awaitReceive().workRequestId() shouldBe 1
                    memory.slice(64, 64).text() shouldBe "Hello, indeed"
                    client.disconnect() shouldBe true
                }
                serving.get()
            }
        }

        case("should read and write the peer's memory, and complete both") {
            endpointPair().use { (client, server) ->
                val source = server.readableRegion(64)
                val target = server.writableRegion(64)
                val memory = client.writableRegion(128) // iWARP writes into the target of a read
                source.slice().text("to be read")
                client.postRead(1, memory.slice(0, 64), source.remote())
                client.awaitSend().shouldBeDone(1, RDMA_READ, client.queuePair())
                client.postWrite(2, memory.slice(64, 64).text("written"), target.remote())
                client.awaitSend().shouldBeDone(2, RDMA_WRITE, client.queuePair())
                memory.slice(0, 64).text() shouldBe "to be read"
                target.slice().text() shouldBe "written"
            }
        }

        case("should give each side the private data and the addresses of the other") {
            endpointPair().use { (client, server) ->
                server.event().shouldNotBeNull().words() shouldBe "from the client"
                client.event().shouldNotBeNull().words() shouldBe "from the server"
                server.id().peerAddress() shouldBe client.id().localAddress()
                server.id().isPassive shouldBe true
                client.toString() shouldStartWith
                    "endpoint to $shownIp:${server.id().localAddress()?.port} by queue pair"
            }
        }

        case("should connect by addresses that were found by name") {
            channel().use { names ->
                val free = endpointListener().use { it.address.port }

                fun found(hints: AddressHints): AddressInfo = names.addressInfo(ip, "$free", hints).first()
                val local = found(AddressHints.passive(PortSpace.TCP))
                val remote = found(AddressHints.active(PortSpace.TCP))
                ConnectionEndpoint.listen(local, endpoints).use { listener ->
                    listener.address.port shouldBe free
                    ConnectionEndpoint.to(remote, endpoints).use { client ->
                        val connecting = task { client.connect() }
                        listener.accept().use { connecting.get() }
                    }
                }
                shouldThrow<IllegalArgumentException> { ConnectionEndpoint.to(local, endpoints) }.message shouldContain
                    "has no destination"
                shouldThrow<IllegalArgumentException> {
                    ConnectionEndpoint.listen(remote, endpoints)
                }.message shouldContain "ask with AddressHints.passive"
                val datagrams = found(AddressHints.active(PortSpace.UDP))
                shouldThrow<IllegalArgumentException> {
                    ConnectionEndpoint.to(datagrams, endpoints)
                }.message shouldContain "is not of port space TCP"
            }
        }

        case("should say that nobody listens, and leave nothing open") {
            ConnectionEndpoint.to(at(9), endpoints).use { client ->
                val refused = shouldThrow<ConnectionRejectedException> { client.connect() }
                refused.message shouldStartWith "connecting to $shownIp:9 failed: "
                refused.address() shouldBe at(9)
            }
        }

        case("should be rejected with the reason that the server gives") {
            endpointListener().use { listener ->
                ConnectionEndpoint.to(listener.address, endpoints).use { client ->
                    val connecting = task { client.connect() }
                    listener.awaitRequest().reject("no room".encodeToByteArray())
                    val rejected = shouldThrow<ConnectionRejectedException> { connecting.get() }
                    rejected.privateData().decodeToString().trimEnd('\u0000') shouldBe "no room"
                }
            }
        }

        case("should reject the request of an endpoint that is closed unanswered, and those that wait in a listener") {
            val listener = endpointListener()
            val clients = List(2) { ConnectionEndpoint.to(listener.address, endpoints) }
            val connecting = clients.map { task { it.connect() } }
            listener.awaitRequest().close()
            await("the first rejection") { connecting.any { it.isDone } }
            listener.close()
            connecting.forEach { shouldThrow<ConnectionRejectedException> { it.get() } }
            clients.forEach { it.close() }
        }

        case("should not wait longer than its timeout for a peer that never answers, or for a request") {
            endpointListener().use { listener ->
                val short = endpoints.within(SHORT)
                ConnectionEndpoint.to(listener.address, short).use { client ->
                    val silent = shouldThrow<ConnectionTimeoutException> { client.connect() }
                    silent.step() shouldBe ConnectionStep.CONNECT
                    silent.message shouldContain "no event came within 300 ms"
                }
            }
            endpointListener().use { listener ->
                shouldThrow<ConnectionTimeoutException> { listener.awaitRequest(SHORT) }.step() shouldBe
                    ConnectionStep.ACCEPT
            }
            endpointPair().use { (client, server) ->
                shouldThrow<RdmaTimeoutException> { client.awaitReceive(SHORT) }.completions() shouldBe emptyList()
                shouldThrow<RdmaTimeoutException> { server.awaitSend(Duration.ZERO) }
                server.awaitEnd(SHORT) shouldBe false
                client.close()
                server.awaitEnd(LONG) shouldBe true
            }
        }

        case("should end each wait when another thread closes the endpoint or the listener") {
            val listener = endpointListener()
            val waiting = task { listener.awaitRequest() }.hasBegunToWait()
            listener.close()
            shouldThrow<IllegalStateException> { waiting.get() }.message shouldContain "is closed"
            listener.isOpen shouldBe false

            endpointListener().use { silent ->
                val client = ConnectionEndpoint.to(silent.address, endpoints)
                val connecting = task { client.connect() }.hasBegunToWait()
                client.close()
                shouldThrow<IllegalStateException> { connecting.get() }.message shouldStartWith
                    "connection id (TCP) to $shownIp:${silent.address.port} is closed"
            }

            val (client, server) = endpointPair()
            val receiving = task { client.awaitReceive() }.hasBegunToWait()
            val sending = task { client.awaitSend() }.hasBegunToWait()
            client.close()
            client.close()
            shouldThrow<IllegalStateException> { receiving.get() }
            shouldThrow<IllegalStateException> { sending.get() }
            client.isOpen shouldBe false
            server.close()
        }

        case("should end each wait when its thread is interrupted") {
            endpointListener().use { listener ->
                val waiting = task { listener.awaitRequest() }.hasBegunToWait()
                waiting.interrupt()
                shouldThrow<InterruptedException> { waiting.get() }
                ConnectionEndpoint.to(listener.address, endpoints).use { client ->
                    val connecting = task { client.connect() }.hasBegunToWait()
                    connecting.interrupt()
                    shouldThrow<InterruptedException> { connecting.get() }
                }
            }
            endpointPair().use { (client, server) ->
                for (wait in listOf({ client.awaitReceive() }, { server.awaitSend() }, { client.awaitEnd(LONG) })) {
                    val waiting = task { wait() }.hasBegunToWait()
                    waiting.interrupt()
                    shouldThrow<InterruptedException> { waiting.get() }
                }
            }
        }

        case("should give away the messages that came before the peer's end, and then say that it has come") {
            val memory = memory(128)
            val options = endpoints.with(pd)
            endpointPair(options) { _, server ->
                server.postReceive(1, memory.slice(0, 32))
                server.postReceive(2, memory.slice(32, 32))
            }.use { (client, server) ->
                client.postSend(1, memory.slice(64, 32).text("last words"))
                client.awaitSend()
                client.close()
                server.awaitReceive().shouldBeDone(1, RECV, server.queuePair(), bytes = 32)
                memory.slice(0, 32).text() shouldBe "last words"
                val ended = shouldThrow<ConnectionException> { server.awaitReceive() }
                ended.step() shouldBe ConnectionStep.STAY_CONNECTED
                ended.message shouldContain "the connection has ended"
                ended.address() shouldBe server.id().peerAddress()
                shouldThrow<ConnectionException> { server.awaitReceive() } // which has nothing posted
                shouldThrow<ConnectionException> { server.awaitSend() }
                server.disconnect() shouldBe true
            }
        }

        case("should report a request that fails while the connection is up as it failed", RAW_CONNECT) {
            endpointPair().use { (client, server) ->
                val memory = client.messageRegion(32)
                val hidden = server.messageRegion(32)
                client.postRead(5, memory.slice(), hidden.remote())
                val failed = shouldThrow<WorkCompletionException> { client.awaitSend() }
                failed.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
                failed.workRequestId() shouldBe 5
            }
        }

        case("should say that the peer has gone when it gave up before it was accepted") {
            endpointListener().use { listener ->
                val client = ConnectionEndpoint.to(listener.address, endpoints)
                val connecting = task { client.connect() }
                listener.awaitRequest().use { server ->
                    client.close()
                    shouldThrow<IllegalStateException> { connecting.get() }
                    Thread.sleep(100) // the manager gets the client's message
                    val gone = shouldThrow<ConnectionException> { server.accept() }
                    gone.step() shouldBe ConnectionStep.ACCEPT
                }
            }
        }

        case("should use the domain, the queues and the shared receives that the options give, and leave them open") {
            val (sendCq, receiveCq) = cq() to cq()
            val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1))
            val memory = memory(64)
            srq.postReceive(3, memory.slice(0, 32))
            val shared = endpoints.with(pd)
            endpointListener(shared.with(srq)).use { listener ->
                val client = ConnectionEndpoint.to(listener.address, shared.with(sendCq, receiveCq))
                val connecting = task { client.connect() }
                val server = listener.accept()
                connecting.get()
                server.queuePair().srq() shouldBe srq
                client.protectionDomain() shouldBe pd
                client.postSend(4, memory.slice(32, 32).text("shared"))
                sendCq.takeOne().shouldBeDone(4, SEND, client.queuePair())
                server.awaitReceive().shouldBeDone(3, RECV, server.queuePair(), bytes = 32)
                memory.slice(0, 32).text() shouldBe "shared"
                shouldThrow<IllegalStateException> { client.awaitSend() }.message shouldContain "poll that"
                shouldThrow<IllegalStateException> { client.awaitReceive() }
                client.close()
                server.close()
                server.queuePair().isOpen shouldBe false
            }
            listOf(pd, sendCq, receiveCq, srq, memory).all { it.isOpen } shouldBe true
        }

        case("should close what it made with it: the memory in its own domain, and no endpoint of a closed listener") {
            val (client, server) = endpointPair() // whose listener is closed
            val memory = client.messageRegion(32)
            client.close()
            memory.isOpen shouldBe false
            client.protectionDomain().context().isOpen shouldBe false
            server.isOpen shouldBe true
            server.messageRegion(32).isOpen shouldBe true
            server.close()
        }

        case("should close its id when the queue pair cannot be made, and reject the request on the other side") {
            val most = context.queryDevice().maxQpWr()
            val tooMuch = endpoints.with(QueuePairCapabilities(most * 4, 1, 1, 1, 0))
            shouldThrow<RdmaSystemException> { ConnectionEndpoint.to(at(9), tooMuch) }
            endpointListener(tooMuch).use { listener ->
                ConnectionEndpoint.to(listener.address, endpoints).use { client ->
                    val connecting = task { client.connect() }
                    shouldThrow<RdmaSystemException> { listener.awaitRequest() }
                    shouldThrow<ConnectionRejectedException> { connecting.get() }
                }
            }
        }

        case("should refuse private data that a message can't carry, and connect afterwards", RAW_CONNECT) {
            endpointListener().use { listener ->
                ConnectionEndpoint.to(listener.address, endpoints).use { client ->
                    shouldThrow<RdmaSystemException> { client.connect(words("x".repeat(57))) }.message shouldContain
                        "at most 56 bytes"
                    val connecting = task { client.connect(words("x".repeat(56))) }
                    listener.awaitRequest().use { server ->
                        server.event().shouldNotBeNull().words() shouldBe "x".repeat(56)
                        shouldThrow<RdmaSystemException> { server.accept(words("y".repeat(197))) }.message shouldContain
                            "at most 196 bytes"
                    }
                    shouldThrow<ConnectionRejectedException> { connecting.get() }
                }
            }
        }

        case("should serve several requests on several threads, each once") {
            endpointListener().use { listener ->
                val serving =
                    List(3) {
                        task {
                            listener.awaitRequest().use { server ->
                                val memory = server.messageRegion(32)
                                server.postReceive(1, memory.slice())
                                server.accept()
                                server.awaitReceive()
                                memory.slice().text()
                            }
                        }
                    }
                val sending =
                    List(3) { number ->
                        task {
                            ConnectionEndpoint.to(listener.address, endpoints).use { client ->
                                client.connect()
                                client.postSend(1, client.messageRegion(32).slice().text("$number"))
                                client.awaitSend()
                                client.awaitEnd(LONG)
                            }
                        }
                    }
                serving.map { it.get() }.sorted() shouldBe listOf("0", "1", "2")
                sending.map { it.get() } shouldBe List(3) { true }
            }
        }

        case("should refuse options that do not fit each other, and steps in the wrong order") {
            shouldThrow<IllegalArgumentException> { EndpointOptions.DEFAULTS.with(cq(), cq()) }.message shouldContain
                "give a protection domain of the same open device, before the queue"
            shouldThrow<IllegalArgumentException> {
                EndpointOptions.DEFAULTS.within(Duration.ZERO)
            }.message shouldBe "timeout PT0S is out of range: give a time above 0"
            val other = devicesUnderTest.first { it.name != device.name }
            Bench(other).use { bench ->
                shouldThrow<IllegalArgumentException> { endpoints.with(bench.pd) }.message shouldContain
                    "leave the device out"
            }
            ConnectionEndpoint.to(at(9), endpoints).use { client ->
                client.event().shouldBeNull()
                shouldThrow<IllegalStateException> { client.accept() }.message shouldContain "call connect"
                shouldThrow<RdmaSystemException> { client.disconnect() }.operation() shouldBe "rdma_disconnect"
            }
            endpointPair { _, server -> server.postReceive(1, server.messageRegion(8).slice()) }.use { (client, _) ->
                shouldThrow<RdmaSystemException> { client.connect(ConnectionParameters.DEFAULTS) }
                client.postSend(1, client.messageRegion(8).slice())
                client.awaitSend().workRequestId() shouldBe 1 // the connection is still up
            }
        }
    })

private val SHORT = Duration.ofMillis(300)
private val LONG = Duration.ofSeconds(20)

private operator fun Endpoints.component1() = client

private operator fun Endpoints.component2() = server
