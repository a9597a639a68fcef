package org.kverbs.acceptance.contract

import io.kotest.matchers.ints.shouldBeGreaterThanOrEqual
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.acceptance.contract.Capability.EXTENDED_QUEUES
import org.kverbs.acceptance.contract.Capability.RAW_PACKET
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType

/** Checks the states and the sizes of raw packet queue pairs; `FlowSpec` has their frames. */
internal class RawPacketSpec :
    ContractSpec({
        case("should make a raw packet queue pair in RESET, tell its sizes, and bring it to RTS", RAW_PACKET) {
            checkStates(pd.queuePair(rawPackets()))
        }

        case(
            "should make an extended raw packet queue pair in RESET, tell its sizes, and bring it to RTS",
            RAW_PACKET,
            EXTENDED_QUEUES,
        ) {
            val qp = pd.queuePair(rawPackets(extended = true))
            qp.isExtended shouldBe true
            checkStates(qp)
        }
    })

private fun Bench.rawPackets(extended: Boolean = false): QueuePairInitAttributes {
    val attributes =
        QueuePairInitAttributes
            .of(QueuePairType.RAW_PACKET, cq(extended = extended))
            .with(QueuePairCapabilities(10, 12, 2, 1, 0))
    return if (extended) attributes.asExtended() else attributes
}

private fun checkStates(qp: QueuePair) {
    qp.type() shouldBe QueuePairType.RAW_PACKET
    qp.state() shouldBe QueuePairState.RESET
    val sizes = qp.query().cap()
    sizes.maxSendWr() shouldBeGreaterThanOrEqual 10
    sizes.maxRecvWr() shouldBeGreaterThanOrEqual 12
    sizes.maxSendSge() shouldBeGreaterThanOrEqual 2
    sizes.maxRecvSge() shouldBeGreaterThanOrEqual 1
    sizes shouldBe qp.capabilities()
    qp.activate(ConnectOptions.DEFAULTS)
    qp.state() shouldBe QueuePairState.RTS
    qp.query().state() shouldBe QueuePairState.RTS
}
