package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.at
import org.kverbs.acceptance.contract.await
import org.kverbs.acceptance.contract.bytes
import org.kverbs.acceptance.contract.channels
import org.kverbs.acceptance.contract.expect
import org.kverbs.acceptance.contract.ip
import org.kverbs.acceptance.contract.listener
import org.kverbs.acceptance.contract.next
import org.kverbs.acceptance.contract.prepare
import org.kverbs.acceptance.contract.resolved
import org.kverbs.acceptance.contract.shouldBeDone
import org.kverbs.acceptance.contract.takeOne
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import java.nio.ByteBuffer

/** The length of the first message of an rping client: address, key and size of its buffer, in network order. */
private const val RPING_INFO = 16
private const val RPING_SIZE = 64

/** Connects with rping of rdma-core, which makes its queue pairs through librdmacm. */
internal class RpingSpec :
    ContractSpec({
        case("should be connected to by a C client, and get its first message") {
            channels { _, servers ->
                val listener = listener(servers)
                val port = checkNotNull(listener.localAddress()).port
                CProgram("rping", "-c", "-a", ip, "-p", "$port", "-C", "1", "-S", "$RPING_SIZE", "-d").use { c ->
                    val b = end()
                    val server = servers.expect(CONNECT_REQUEST).id()
                    b.qp.prepare(server, INIT)
                    b.qp.postReceive(3, b.mr.slice())
                    b.qp.prepare(server, RTR, RTS)
                    server.accept(b.qp, ConnectionParameters.DEFAULTS.withReads(1, 1))
                    servers.expect(ESTABLISHED).id() shouldBe server
                    b.cq.takeOne().shouldBeDone(3, RECV, b.qp, bytes = RPING_INFO.toLong())
                    ByteBuffer.wrap(b.mr.bytes(RPING_INFO)).getInt(12) shouldBe RPING_SIZE
                    server.disconnect()
                    val (_, text) = c.end()
                    withClue(text) { text shouldContain "DISCONNECT EVENT" }
                    servers.expect(DISCONNECTED).id() shouldBe server
                }
            }
        }

        case("should connect to a C server and disconnect from it") {
            channels { clients, _ ->
                val port = freePort()
                CProgram("rping", "-s", "-a", ip, "-p", "$port", "-C", "1", "-d").use { c ->
                    await("a listener of the connection manager at port $port") {
                        "$ip:$port " in
                            rdma("resource", "show", "cm_id")
                    }
                    val a = end()
                    val client = clients.resolved(at(port), PortSpace.TCP)
                    a.qp.prepare(client, INIT)
                    client.connect(a.qp, ConnectionParameters.DEFAULTS.withReads(1, 1))
                    val answer = clients.next().orThrow()
                    if (answer.type() == CONNECT_RESPONSE) {
                        a.qp.prepare(client, RTR, RTS)
                        client.establish()
                    }
                    client.disconnect()
                    val (_, text) = c.end()
                    withClue(text) {
                        text shouldContain "RDMA_CM_EVENT_ESTABLISHED"
                        text shouldContain "DISCONNECT EVENT"
                    }
                    clients.expect(DISCONNECTED).id() shouldBe client
                }
            }
        }
    })

private fun rdma(vararg arguments: String): String {
    val process = ProcessBuilder("rdma", *arguments).redirectErrorStream(true).start()
    val said = process.inputReader().readText()
    check(process.waitFor() == 0) { "rdma ${arguments.joinToString(" ")}: $said" }
    return said
}
