package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.get
import java.net.InetSocketAddress

private const val GRH = 40L

/** Posts one receive before the other side can send. */
private class First(
    private val scope: CoroutineScope,
) {
    lateinit var memory: MemoryRegion
    lateinit var received: Deferred<Received>

    val settings: ConnectionBuilder.() -> Unit = {
        prepared {
            memory = it.queuePair.protectionDomain().memoryRegion(128, LOCAL_WRITE)
            received = scope.async(start = UNDISPATCHED) { it.receive(memory[0, 64]) }
        }
    }
}

class RdmaDatagramsSpec :
    FunSpec({
        timeout = 60_000

        suspend fun service(
            block: suspend CoroutineScope.(
                listener: RdmaListener,
                client: RdmaHost,
                address: InetSocketAddress,
            ) -> Unit,
        ) {
            rdmaHost { provider("embedded") }.use { server ->
                rdmaHost { provider("embedded") }.use { client ->
                    val listener = server.listen(InetSocketAddress("0.0.0.0", 0), portSpace = PortSpace.UDP)
                    coroutineScope { block(listener, client, InetSocketAddress("127.0.0.1", listener.address.port)) }
                }
            }
        }

        test("should find a datagram service by its address and answer every sender") {
            service { listener, client, address ->
                launch {
                    val first = First(this)
                    val request = listener.awaitRequest()
                    request.privateData.decodeToString() shouldStartWith "who is there"
                    request
                        .acceptDatagrams {
                            first.settings(this)
                            privateData("it is me".encodeToByteArray())
                        }.use { ours ->
                            ours.service shouldBe null
                            val came = first.received.await()
                            ours.sender(came, first.memory.memory()).use {
                                ours.queuePair.send(
                                    first.memory[
                                        GRH, came.length -
                                            GRH,
                                    ],
                                    it,
                                )
                            }
                        }
                }
                val echo = First(this)
                val found =
                    client.connectDatagrams(address) {
                        echo.settings(this)
                        privateData("who is there".encodeToByteArray())
                    }
                found.privateData.decodeToString() shouldStartWith "it is me"
                echo.memory.memory().setString(64, "echo")
                found.queuePair.send(echo.memory[64, 5], checkNotNull(found.service))
                echo.received.await().length shouldBe GRH + 5
                echo.memory.memory().getString(GRH) shouldBe "echo"
                found.close()
            }
        }

        test("should tell a rejected client the reason, and report a port where no program listens") {
            service { listener, client, address ->
                launch { listener.awaitRequest().reject("not today".encodeToByteArray()) }
                val refusal = shouldThrow<ConnectionRejectedException> { client.connectDatagrams(address) }
                refusal.privateData().decodeToString() shouldStartWith "not today"
                listener.close()
                shouldThrow<ConnectionRejectedException> { client.connectDatagrams(address) }.message shouldContain
                    "Nobody listens"
            }
        }

        test(
            "should refuse to answer a request of the other kind and leave it open for the right answer",
        ) {
            service { listener, client, address ->
                launch {
                    val request = listener.awaitRequest()
                    shouldThrow<IllegalStateException> { request.accept() }.message shouldContain
                        "answer with acceptDatagrams"
                    request.reject()
                }
                shouldThrow<ConnectionRejectedException> { client.connectDatagrams(address) }
                rdmaHost { provider("embedded") }.use { other ->
                    val connections = other.listen(InetSocketAddress("0.0.0.0", 0))
                    launch {
                        val request = connections.awaitRequest()
                        shouldThrow<IllegalStateException> { request.acceptDatagrams() }.message shouldContain
                            "a connection: answer with accept"
                        request.reject()
                    }
                    shouldThrow<ConnectionRejectedException> {
                        client.connect(
                            InetSocketAddress("127.0.0.1", connections.address.port),
                        )
                    }
                }
            }
        }

        test("should leave nothing open after close") {
            service { listener, client, address ->
                val first = launch { listener.awaitRequest().acceptDatagrams().close() }
                client.connectDatagrams(address).close() // opens the device
                first.join()
                Diagnostics.enable()
                try {
                    val served = launch { listener.awaitRequest().acceptDatagrams().close() }
                    client.connectDatagrams(address).close()
                    served.join()
                    val open = Diagnostics.openResources()
                    withClue(open.mapNotNull { it.openedAt()?.stackTraceToString() }) {
                        open.map { it.resource().describe() }.shouldBeEmpty()
                    }
                } finally {
                    Diagnostics.disable()
                }
            }
        }
    })
