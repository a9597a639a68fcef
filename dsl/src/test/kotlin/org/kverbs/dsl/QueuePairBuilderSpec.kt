package org.kverbs.dsl

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import org.kverbs.CompletionQueue
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType

private fun onDomain(block: (ProtectionDomain, CompletionQueue) -> Unit) =
    onNullDevice { block(it.protectionDomain(), it.completionQueue { }) }

/** The sizes that the device was asked for; null0 gives exactly those. */
private fun QueuePair.asked(): QueuePairCapabilities = query().cap()

private const val NO_SEND_CQ = "sendCq is missing: say sendCq(cq)"

internal class QueuePairBuilderSpec :
    FunSpec({
        test(
            "should ask for 128 requests of one entry each way, no inline bytes and no shared queue, unless told " +
                "otherwise",
        ) {
            onDomain { pd, cq ->
                val qp =
                    pd.qp {
                        type(RC)
                        cq(cq)
                    }
                qp.type() shouldBe QueuePairType.RC
                qp.asked() shouldBe QueuePairCapabilities(128, 128, 1, 1, 0)
                qp.srq() shouldBe null
                pd.qp(UD) { cq(cq) }.queuePair.asked() shouldBe qp.asked()
            }
        }

        test("should ask for what it was told, each number in its place") {
            onDomain { pd, sends ->
                val receives = pd.context().completionQueue { }
                val qp =
                    pd.qp {
                        type(UC)
                        sendCq(sends)
                        recvCq(receives)
                        maxSendWr(11)
                        maxRecvWr(12)
                        maxSendSge(3)
                        maxRecvSge(4)
                        maxInlineData(55)
                    }
                qp.type() shouldBe QueuePairType.UC
                qp.asked() shouldBe QueuePairCapabilities(11, 12, 3, 4, 55)
                qp.sendCq() shouldBeSameInstanceAs sends
                qp.recvCq() shouldBeSameInstanceAs receives
            }
        }

        test("should give the sending end of XRC no receives, and refuse to be asked for some") {
            onDomain { pd, cq ->
                var room = -1
                pd.qp(XRC_SEND) {
                    cq { _, receives ->
                        room = receives
                        cq
                    }
                }
                room shouldBe 0
                val refused =
                    listOf<QueuePairSettings.() -> Unit>({ maxRecvWr(1) }, { maxRecvSge(1) }).map { receives ->
                        refusal {
                            pd.qp(XRC_SEND) {
                                cq(cq)
                                receives()
                            }
                        }
                    }
                refused.distinct() shouldBe
                    listOf("an XRC_SEND queue pair receives nothing: leave out maxRecvWr and maxRecvSge")
            }
        }

        test("should build attributes for the calls of drivers, of their type unless told otherwise") {
            onDomain { pd, cq ->
                val shared = pd.srq { maxWr(4) }
                val attributes =
                    queuePairAttributes {
                        cq(cq)
                        srq(shared)
                        maxSendWr(7)
                    }
                attributes.type() shouldBe QueuePairType.DRIVER
                listOf(attributes.recvCq(), attributes.srq()) shouldBe listOf(cq, shared)
                attributes.capabilities().maxSendWr() shouldBe 7
                val reliable =
                    queuePairAttributes {
                        type(RC)
                        cq(cq)
                    }
                reliable.type() shouldBe QueuePairType.RC
                refusal { queuePairAttributes { } } shouldBe "sendCq is missing: say sendCq(cq)"
                completionQueueAttributes { entries(12) }.entries() shouldBe 12
            }
        }

        test("should complete receives where sends do, unless told otherwise") {
            onDomain { pd, cq ->
                val qp =
                    pd.qp {
                        type(RC)
                        sendCq(cq)
                    }
                listOf(qp.sendCq(), qp.recvCq()).forEach { it shouldBeSameInstanceAs cq }
                val typed = pd.qp(UD) { sendCq(cq) }.queuePair
                listOf(typed.sendCq(), typed.recvCq()).forEach { it shouldBeSameInstanceAs cq }
            }
        }

        test("should complete signaled sends only, and all of them after signalAll") {
            onDomain { pd, cq ->
                val qp = pd.qp(RC) { cq(cq) }
                qp.post { sendEmpty(id = 1) }
                qp.post { sendEmpty(id = 2).signaled() }
                pd
                    .qp(RC) {
                        cq(cq)
                        signalAll()
                    }.post { sendEmpty(id = 3) }
                val ids = mutableListOf<Long>()
                cq.poll { ids += it.workRequestId() }
                ids shouldBe listOf(2L, 3L)
            }
        }

        test("should name the part that is missing") {
            onDomain { pd, cq ->
                refusal { pd.qp { cq(cq) } } shouldBe
                    "type is missing: say type(RC), type(UC), type(UD) or type(XRC_SEND)"
                refusal {
                    pd.qp {
                        type(RC)
                        recvCq(cq)
                    }
                } shouldBe NO_SEND_CQ
                refusal { pd.qp(UD) { recvCq(cq) } } shouldBe NO_SEND_CQ
            }
        }

        test("should refuse a shared receive queue together with sizes of its own, in any order, and name both") {
            onDomain { pd, cq ->
                val srq = pd.srq { }
                refusal {
                    pd.qp(RC) {
                        cq(cq)
                        srq(srq)
                        maxRecvWr(7)
                    }
                } shouldBe
                    "srq(...) and maxRecvWr(7) exclude each other: the shared queue has its own size"
                refusal {
                    pd.qp(RC) {
                        cq(cq)
                        maxRecvSge(2)
                        srq(srq)
                    }
                } shouldBe
                    "srq(...) and maxRecvSge(2) exclude each other: the shared queue has its own size"
                // Setting the default explicitly counts as a size too.
                refusal {
                    pd.qp(RC) {
                        cq(cq)
                        srq(srq)
                        maxRecvWr(128)
                    }
                } shouldBe
                    "srq(...) and maxRecvWr(128) exclude each other: the shared queue has its own size"
            }
        }

        test("should ask for no receive queue beside a shared one") {
            onDomain { pd, cq ->
                val srq = pd.srq { }
                val qp =
                    pd
                        .qp(RC) {
                            cq(cq)
                            srq(srq)
                        }.queuePair
                qp.asked() shouldBe QueuePairCapabilities(128, 0, 1, 0, 0)
                qp.srq() shouldBeSameInstanceAs srq
            }
        }

        test(
            "should keep nothing of a builder: what is said to it after its block changes neither its queue pair nor " +
                "the next",
        ) {
            onDomain { pd, cq ->
                lateinit var leaked: QueuePairBuilder
                val qp =
                    pd.qp {
                        type(RC)
                        cq(cq)
                        maxSendWr(7)
                        leaked = this
                    }
                leaked.type(UD)
                leaked.maxSendWr(9)
                qp.type() shouldBe QueuePairType.RC
                qp.asked().maxSendWr() shouldBe 7
                withClue("the next block") {
                    pd
                        .qp {
                            type(RC)
                            cq(cq)
                        }.asked()
                        .maxSendWr() shouldBe 128
                    refusal { pd.qp { cq(cq) } } shouldBe
                        "type is missing: say type(RC), type(UC), type(UD) or type(XRC_SEND)"
                }
            }
        }
    })
