package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet

private const val BYTES = 8
private const val ACK = 0x1f
private const val REMOTE_ACCESS = 0x62

/**
 * Checks acknowledgements of packets that arrived together (IBA volume 1, 9.7.5.1.2: the ACK of a PSN covers all PSNs
 * before it).
 */
class AcknowledgementSpec :
    FunSpec({
        fun PeerBench.write(
            psn: Int,
            fill: Packet.() -> Unit = {},
        ) = packet(Opcode.RC_WRITE_ONLY, psn) {
            payloadLength = BYTES
            dmaLength = BYTES
            ackRequest = true
            fill()
        }

        test("should acknowledge packets that arrived together by one packet, for the last PSN") {
            PeerBench().use { bench ->
                bench.arriveTogether(bench.write(0), bench.write(1), bench.write(2)) shouldContainExactly
                    listOf(Sent(Opcode.RC_ACK, 2, ACK, 0))
                bench.arriveTogether(bench.write(3)) shouldContainExactly listOf(Sent(Opcode.RC_ACK, 3, ACK, 0))
            }
        }

        test("should acknowledge packets before a read ahead of the read's data") {
            PeerBench().use { bench ->
                val read = bench.packet(Opcode.RC_READ_REQUEST, 1) { dmaLength = BYTES }
                bench.arriveTogether(bench.write(0), read) shouldContainExactly
                    listOf(Sent(Opcode.RC_ACK, 0, ACK, 0), Sent(Opcode.RC_READ_RESPONSE_ONLY, 1, ACK, BYTES))
            }
        }

        test("should let a refusal acknowledge the packets before it") {
            PeerBench().use { bench ->
                bench.arriveTogether(bench.write(0), bench.write(1) { rkey++ }) shouldContainExactly
                    listOf(Sent(Opcode.RC_ACK, 1, REMOTE_ACCESS, 0))
            }
        }

        test("should acknowledge packets before a later packet moves the queue pair to the error state") {
            PeerBench().use { bench ->
                bench.qp.postWith { it.write(1, bench.mr.remote()).from(bench.mr.slice(0, 8)).signaled() }
                val refused = bench.packet(Opcode.RC_ACK, 0) { syndrome = REMOTE_ACCESS }
                bench.arriveTogether(bench.write(0), refused) shouldContainExactly
                    listOf(Sent(Opcode.RC_ACK, 0, ACK, 0))
            }
        }
    })
