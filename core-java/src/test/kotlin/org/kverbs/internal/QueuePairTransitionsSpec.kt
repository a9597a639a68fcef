package org.kverbs.internal

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.attributes.QueuePairAttribute
import org.kverbs.attributes.QueuePairAttribute.ACCESS_FLAGS
import org.kverbs.attributes.QueuePairAttribute.AV
import org.kverbs.attributes.QueuePairAttribute.CUR_STATE
import org.kverbs.attributes.QueuePairAttribute.DEST_QPN
import org.kverbs.attributes.QueuePairAttribute.MAX_DEST_RD_ATOMIC
import org.kverbs.attributes.QueuePairAttribute.MAX_QP_RD_ATOMIC
import org.kverbs.attributes.QueuePairAttribute.MIN_RNR_TIMER
import org.kverbs.attributes.QueuePairAttribute.PATH_MTU
import org.kverbs.attributes.QueuePairAttribute.PKEY_INDEX
import org.kverbs.attributes.QueuePairAttribute.PORT
import org.kverbs.attributes.QueuePairAttribute.QKEY
import org.kverbs.attributes.QueuePairAttribute.RETRY_CNT
import org.kverbs.attributes.QueuePairAttribute.RNR_RETRY
import org.kverbs.attributes.QueuePairAttribute.RQ_PSN
import org.kverbs.attributes.QueuePairAttribute.SQ_PSN
import org.kverbs.attributes.QueuePairAttribute.STATE
import org.kverbs.attributes.QueuePairAttribute.TIMEOUT
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RESET
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairState.SQD
import org.kverbs.attributes.QueuePairState.SQE
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.QueuePairType.XRC_RECV
import org.kverbs.attributes.QueuePairType.XRC_SEND

private val TYPES = listOf(RC, UC, UD, XRC_SEND, XRC_RECV)
private val STATES = QueuePairState.entries - QueuePairState.UNKNOWN

/**
 * Besides these tests, the whole table was compared with Soft-RoCE of Linux 6.1, with each attribute added and removed.
 */
class QueuePairTransitionsSpec :
    FunSpec({
        fun required(
            type: QueuePairType,
            from: QueuePairState,
            to: QueuePairState,
        ) = QueuePairTransitions.required(type, from, to)

        test("should require what the IBA requires on the way to RTS") {
            required(RC, RESET, INIT).shouldContainExactlyInAnyOrder(STATE, PKEY_INDEX, PORT, ACCESS_FLAGS)
            required(UC, RESET, INIT).shouldContainExactlyInAnyOrder(STATE, PKEY_INDEX, PORT, ACCESS_FLAGS)
            required(RAW_PACKET, RESET, INIT).shouldContainExactlyInAnyOrder(STATE, PORT)
            required(RAW_PACKET, INIT, RTR).shouldContainExactlyInAnyOrder(STATE)
            required(RAW_PACKET, RTR, RTS).shouldContainExactlyInAnyOrder(STATE)
            required(UD, RESET, INIT).shouldContainExactlyInAnyOrder(STATE, PKEY_INDEX, PORT, QKEY)
            required(RC, INIT, RTR)
                .shouldContainExactlyInAnyOrder(
                    STATE,
                    AV,
                    PATH_MTU,
                    DEST_QPN,
                    RQ_PSN,
                    MAX_DEST_RD_ATOMIC,
                    MIN_RNR_TIMER,
                )
            required(UC, INIT, RTR).shouldContainExactlyInAnyOrder(STATE, AV, PATH_MTU, DEST_QPN, RQ_PSN)
            required(UD, INIT, RTR).shouldContainExactlyInAnyOrder(STATE)
            required(
                RC,
                RTR,
                RTS,
            ).shouldContainExactlyInAnyOrder(STATE, TIMEOUT, RETRY_CNT, RNR_RETRY, SQ_PSN, MAX_QP_RD_ATOMIC)
            required(UC, RTR, RTS).shouldContainExactlyInAnyOrder(STATE, SQ_PSN)
            required(UD, RTR, RTS).shouldContainExactlyInAnyOrder(STATE, SQ_PSN)
        }

        test("should require of each end of XRC what that end does: of the receiver no retries") {
            listOf(XRC_SEND, XRC_RECV).forEach {
                required(it, RESET, INIT).shouldContainExactlyInAnyOrder(STATE, PKEY_INDEX, PORT, ACCESS_FLAGS)
            }
            required(XRC_SEND, INIT, RTR) shouldBe required(UC, INIT, RTR)
            required(XRC_RECV, INIT, RTR) shouldBe required(RC, INIT, RTR)
            required(XRC_SEND, RTR, RTS) shouldBe required(RC, RTR, RTS)
            required(XRC_RECV, RTR, RTS).shouldContainExactlyInAnyOrder(STATE, TIMEOUT, SQ_PSN)
            val all =
                STATES.flatMap { from -> STATES.flatMap { to -> QueuePairTransitions.optional(XRC_SEND, from, to) } }
            (MIN_RNR_TIMER in all || MAX_DEST_RD_ATOMIC in all) shouldBe false
        }

        test("should lead from each state where the IBA leads") {
            val everywhere =
                mapOf(
                    RESET to setOf(RESET, INIT),
                    INIT to setOf(RESET, ERR, INIT, RTR),
                    RTR to setOf(RESET, ERR, RTS),
                    RTS to setOf(RESET, ERR, RTS, SQD),
                    SQD to setOf(RESET, ERR, RTS, SQD),
                    ERR to setOf(RESET, ERR),
                )
            TYPES.forEach { type ->
                everywhere.forEach { (from, to) ->
                    withClue("$type from $from") {
                        QueuePairTransitions.targets(type, from) shouldContainExactlyInAnyOrder
                            to
                    }
                }
            }
            QueuePairTransitions.targets(UD, SQE).shouldContainExactlyInAnyOrder(RESET, ERR, RTS)
            QueuePairTransitions.targets(UC, SQE).shouldContainExactlyInAnyOrder(RESET, ERR, RTS)
        }

        test("should take CUR_STATE on the way to RTS only, and never on the way there from INIT") {
            TYPES.forEach { type ->
                STATES.forEach { from ->
                    QueuePairTransitions.targets(type, from).forEach { to ->
                        withClue("$type $from -> $to") {
                            (CUR_STATE in QueuePairTransitions.optional(type, from, to)) shouldBe (to == RTS)
                        }
                    }
                }
            }
        }

        test("should need STATE where the state changes, and take it where it does not") {
            TYPES.forEach { type ->
                STATES.forEach { from ->
                    QueuePairTransitions.targets(type, from).forEach { to ->
                        withClue("$type $from -> $to") {
                            (STATE in required(type, from, to)) shouldBe (from != to)
                            (STATE in QueuePairTransitions.optional(type, from, to)) shouldBe (from == to)
                        }
                    }
                }
            }
        }

        test("should never have an attribute both required and optional, nor one that the type does not have") {
            TYPES.forEach { type ->
                STATES.forEach { from ->
                    STATES.forEach { to ->
                        val needed = required(type, from, to)
                        val all = needed + QueuePairTransitions.optional(type, from, to)
                        withClue("$type $from -> $to") {
                            (needed intersect QueuePairTransitions.optional(type, from, to)).shouldBeEmpty()
                            (type != UD && QKEY in all) shouldBe false
                            (type == UD && (AV in all || ACCESS_FLAGS in all || DEST_QPN in all)) shouldBe false
                            (type in listOf(UC, UD) && TIMEOUT in all) shouldBe false
                            (type !in listOf(RC, XRC_SEND) && (RNR_RETRY in all || MAX_QP_RD_ATOMIC in all)) shouldBe
                                false
                        }
                    }
                }
            }
        }

        test("should name each missing attribute with its C name") {
            QueuePairTransitions.explain(
                RC,
                INIT,
                RTR,
                QueuePairAttribute.mask(STATE, AV, DEST_QPN, RQ_PSN, MIN_RNR_TIMER),
            ) shouldBe
                "INIT -> RTR of RC queue pairs lacks required attributes: PATH_MTU (IBV_QP_PATH_MTU), " +
                "MAX_DEST_RD_ATOMIC (IBV_QP_MAX_DEST_RD_ATOMIC)."
        }

        test("should name what is too much, and what is allowed") {
            QueuePairTransitions.explain(UD, INIT, RTR, QueuePairAttribute.mask(STATE, AV)) shouldBe
                "INIT -> RTR of UD queue pairs does not take these attributes: AV (IBV_QP_AV). " +
                "It takes STATE (IBV_QP_STATE), PKEY_INDEX (IBV_QP_PKEY_INDEX), QKEY (IBV_QP_QKEY)."
        }

        test("should name missing and extra attributes together") {
            QueuePairTransitions.explain(UC, RTR, RTS, QueuePairAttribute.mask(STATE, TIMEOUT)) shouldBe
                "RTR -> RTS of UC queue pairs lacks required attributes: SQ_PSN (IBV_QP_SQ_PSN); not allowed: " +
                "TIMEOUT (IBV_QP_TIMEOUT)."
        }

        test("should say that there is no such transition, and which there are") {
            QueuePairTransitions.explain(RC, INIT, RTS, QueuePairAttribute.mask(STATE)) shouldBe
                "There is no transition INIT -> RTS for RC queue pairs; INIT leads to RESET, INIT, RTR, ERR."
        }

        test("should suspect the values when the attributes are right, each with its limit") {
            val text = QueuePairTransitions.explain(RC, RTR, RTS, QueuePairAttribute.mask(required(RC, RTR, RTS)))
            text shouldStartWith
                "The attributes are the right ones for RTR -> RTS of RC queue pairs, so a value is refused, " +
                "or it is not in state RTR any more. "
            text shouldContain
                "MAX_QP_RD_ATOMIC (IBV_QP_MAX_QP_RD_ATOMIC) is not above the device's max_qp_init_rd_atom"
            text shouldContain "Check that TIMEOUT (IBV_QP_TIMEOUT) is 0 to 31"
            text shouldNotContain "IBV_QP_STATE"
            val path = QueuePairTransitions.explain(RC, INIT, RTR, QueuePairAttribute.mask(required(RC, INIT, RTR)))
            path shouldContain "PATH_MTU (IBV_QP_PATH_MTU) is one of enum ibv_mtu and not above the port's active_mtu"
            path shouldContain "AV (IBV_QP_AV) has the port of the queue pair"
        }

        test("should name no values when none were set") {
            QueuePairTransitions.explain(RC, RTS, ERR, QueuePairAttribute.mask(STATE)) shouldBe
                "The attributes are the right ones for RTS -> ERR of RC queue pairs, so it is not in state RTS any " +
                "more."
        }

        test("should show bits of the mask that are no attribute") {
            QueuePairTransitions.explain(RC, RTS, ERR, QueuePairAttribute.mask(STATE) or (1 shl 30)) shouldBe
                "The mask has bits that are no attribute: 0x40000000."
        }

        test("should have an answer for every type, state and attribute") {
            QueuePairType.entries.forEach { type ->
                QueuePairState.entries.forEach { from ->
                    QueuePairState.entries.forEach { to ->
                        (QueuePairAttribute.entries.map { it.bit() } + 0 + -1).forEach { mask ->
                            QueuePairTransitions.explain(type, from, to, mask) shouldContain Regex("\\w")
                        }
                    }
                }
            }
            QueuePairTransitions.explain(QueuePairType.DRIVER, INIT, RTR, 1) shouldContain
                "no rules for queue pairs of type DRIVER"
            QueuePairTransitions.explain(RC, QueuePairState.UNKNOWN, RTR, 1) shouldBe
                "There is no transition UNKNOWN -> RTR for RC queue pairs."
        }
    })
