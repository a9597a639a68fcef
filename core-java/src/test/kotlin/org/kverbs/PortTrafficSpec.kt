package org.kverbs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

class PortTrafficSpec :
    FunSpec({
        test("should take InfiniBand's data counters in bytes, which count words of four") {
            val traffic =
                PortTraffic.of(
                    mapOf("port_xmit_data" to 25L, "port_rcv_data" to 50L, "port_rcv_packets" to 7L),
                )
            traffic.sentBytes() shouldBe 100
            traffic.receivedBytes() shouldBe 200
            traffic.receivedPackets() shouldBe 7
            traffic.sentPackets() shouldBe null
        }

        test("should take the packets of Soft-RoCE, which counts no bytes") {
            val traffic =
                PortTraffic.of(mapOf("sent_pkts" to 3L, "rcvd_pkts" to 4L, "rcvd_seq_err" to 1L, "send_err" to 2L))
            traffic shouldBe PortTraffic(null, null, 3, 4, 3, null, null)
        }

        test("should add up discards and marks of congestion") {
            val traffic =
                PortTraffic.of(
                    mapOf(
                        "port_xmit_discards" to 1L,
                        "out_of_buffer" to 2L,
                        "np_cnp_sent" to 4L,
                        "rp_cnp_handled" to 8L,
                    ),
                )
            traffic.discards() shouldBe 3
            traffic.congestionMarks() shouldBe 12
            traffic.errors() shouldBe null
        }

        test("should have nothing of a port without counters") {
            PortTraffic.of(emptyMap()) shouldBe PortTraffic(null, null, null, null, null, null, null)
        }
    })
