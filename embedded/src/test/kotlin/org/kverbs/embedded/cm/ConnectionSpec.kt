package org.kverbs.embedded.cm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.TIMEWAIT_EXIT
import org.kverbs.cm.ConnectionParameters

class ConnectionSpec :
    FunSpec({
        test("should connect two devices, carry data both ways, and disconnect") {
            Parties().use { parties ->
                val (asking, asked) = parties.connect()
                val (client, server) = parties.client to parties.server
                asking.deviceName() shouldBe "embedded0"
                asked.deviceName() shouldBe "embedded1"
                client.end.qp.state() shouldBe QueuePairState.RTS
                server.end.qp.state() shouldBe QueuePairState.RTS
                exchange(client.end, server.end)
                exchange(server.end, client.end)
                asking.disconnect()
                server.expect(DISCONNECTED).status() shouldBe 0
                asked.disconnect()
                client.expect(DISCONNECTED).status() shouldBe 0
                client.expect(TIMEWAIT_EXIT)
                server.expect(TIMEWAIT_EXIT)
            }
        }

        test("should hand each side the other's private data, queue pair and numbers") {
            Parties().use { (client, server) ->
                server.listen()
                val asking = client.resolve(Parties.address())
                val parameters = ConnectionParameters(byteArrayOf(1, 2, 3), 5, 3, false, 6, 4)
                asking.connect(client.end.qp, parameters)
                val request = server.expect(CONNECT_REQUEST)
                request.privateData() shouldBe byteArrayOf(1, 2, 3).copyOf(56)
                request.queuePairNumber() shouldBe client.end.qp.number()
                // The answers of one side are the requests of the other.
                (request.responderResources() to request.initiatorDepth()) shouldBe (3 to 5)
                (request.retryCount() to request.rnrRetryCount()) shouldBe (6 to 4)
                server.accept(request.id(), ConnectionParameters(byteArrayOf(9), 2, 255, false, 0, 3))
                request.id().queuePairAttributes(QueuePairState.RTR).maxDestReadAtomic() shouldBe 2
                request.id().queuePairAttributes(QueuePairState.RTS).maxReadAtomic() shouldBe 5
                val response = client.expect(CONNECT_RESPONSE)
                response.privateData() shouldBe byteArrayOf(9).copyOf(196)
                response.queuePairNumber() shouldBe server.end.qp.number()
                (response.responderResources() to response.initiatorDepth()) shouldBe (5 to 2)
                asking.queuePairAttributes(QueuePairState.RTR).let {
                    it.maxDestReadAtomic() shouldBe 5
                    it.destQpn() shouldBe server.end.qp.number()
                }
                asking.queuePairAttributes(QueuePairState.RTS).let {
                    (it.maxReadAtomic() to it.rnrRetry()) shouldBe (2 to 3)
                    it.retryCount() shouldBe 6
                }
            }
        }
    })
