package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeout
import org.kverbs.Device
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionEventType
import org.kverbs.cm.ConnectionId
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.dsl.RC
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.qp
import org.kverbs.embedded.EmbeddedFabric
import java.net.InetSocketAddress
import java.time.Duration
import kotlin.time.Duration.Companion.seconds

private val LONG: Duration = Duration.ofSeconds(30)

private fun ConnectionEventChannel.expect(type: ConnectionEventType) =
    awaitEvent(LONG).shouldNotBeNull().also { it.type() shouldBe type }

private fun ConnectionEventChannel.resolved(address: InetSocketAddress): ConnectionId =
    id(PortSpace.TCP).also {
        it.resolveAddress(address, LONG)
        expect(ConnectionEventType.ADDR_RESOLVED)
        it.resolveRoute(LONG)
        expect(ConnectionEventType.ROUTE_RESOLVED)
    }

/** A client of plain verbs, which the network cuts off when it tells that it is ready. It sends, and disconnects. */
private fun sendUnready(
    fabric: EmbeddedFabric,
    from: Device,
    to: Device,
    address: InetSocketAddress,
) {
    ConnectionEventChannel.open(from).use { channel ->
        from.open().use { device ->
            val cq = device.completionQueue { entries(4) }
            val pd = device.protectionDomain()
            val qp = pd.qp(RC) { cq(cq) }.queuePair
            val id = channel.resolved(address)
            id.prepare(qp, QueuePairState.INIT)
            id.connect(qp, ConnectionParameters.DEFAULTS)
            channel.expect(ConnectionEventType.CONNECT_RESPONSE)
            fabric.partition(from, to)
            for (state in listOf(QueuePairState.RTR, QueuePairState.RTS)) id.prepare(qp, state)
            id.establish()
            fabric.heal(from, to)
            qp.postSend(1, pd.memoryRegion(8, AccessFlag.LOCAL_WRITE).slice())
            val done = WorkCompletions(1)
            while (cq.poll(done) == 0) Thread.onSpinWait()
            done[0].isSuccess shouldBe true
            id.disconnect()
        }
    }
}

/** Tests a server whose client was ready, although the network lost its message about it. */
class LostReadinessSpec :
    FunSpec({
        timeout = 60_000

        test("should accept a client that has sent and disconnected before its readiness came, and end then") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val server = fabric.addDevice()
                val client = fabric.addDevice()
                val address = server.open().use { it.queryGid(1, it.defaultGidIndex(1)).toInetAddress() }
                rdmaHost { device(server) }.use { host ->
                    val listener = host.listen(InetSocketAddress(address, 0))
                    coroutineScope {
                        val sending =
                            async(Dispatchers.IO) {
                                sendUnready(fabric, client, server, InetSocketAddress(address, listener.address.port))
                            }
                        lateinit var received: Deferred<Received>
                        val request = listener.awaitRequest()
                        withTimeout(20.seconds) {
                            val connection =
                                request.accept {
                                    prepared {
                                        val memory =
                                            it.queuePair.protectionDomain().memoryRegion(8, AccessFlag.LOCAL_WRITE)
                                        received =
                                            async(start = CoroutineStart.UNDISPATCHED) { it.receive(memory.slice()) }
                                    }
                                }
                            received.await().length shouldBe 8
                            connection.awaitEnd()
                            connection.close()
                        }
                        sending.await()
                    }
                }
            }
        }
    })
