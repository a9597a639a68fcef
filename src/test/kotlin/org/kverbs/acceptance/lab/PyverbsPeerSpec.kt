package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Device
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.acceptance.contract.CAPABILITIES
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.bytes
import org.kverbs.acceptance.contract.pattern
import org.kverbs.acceptance.contract.shouldBeDone
import org.kverbs.acceptance.contract.takeOne
import org.kverbs.acceptance.lab.Operation.COMPARE_AND_SWAP
import org.kverbs.acceptance.lab.Operation.FETCH_AND_ADD
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.SEND_WITH_IMMEDIATE
import org.kverbs.acceptance.lab.Operation.SEND_WITH_INVALIDATE
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.attributes.SharedReceiveQueueAttributes

private const val DEVICE = "rxe0"
private const val GRH = 40
private val sizes = listOf(0, 1, 1024, 1025, 20_000)

/** Checks every operation between Pyverbs in another process and this one, both on Soft-RoCE and in both directions. */
internal class PyverbsPeerSpec :
    FunSpec({
        for (fromPyverbs in listOf(false, true)) {
            val direction = if (fromPyverbs) "from Pyverbs" else "to Pyverbs"

            fun linked(
                type: QueuePairType,
                sharesReceives: Boolean = false,
                block: Linked.() -> Unit,
            ) = Station(DEVICE).use { ours ->
                PyverbsSide(DEVICE, gidIndex(), sharesReceives).use { theirs ->
                    val (from, to) = if (fromPyverbs) theirs to ours else ours to theirs
                    Linked(from, to, type, Patience()).block()
                }
            }

            for (type in listOf(RC, UC)) {
                test("should carry sends and writes on $type $direction, with and without immediate data") {
                    linked(type) {
                        for (size in sizes) {
                            listOf(SEND, SEND_WITH_IMMEDIATE, WRITE, WRITE_WITH_IMMEDIATE).forEach { carry(it, size) }
                        }
                    }
                }
            }

            test("should read on RC $direction") {
                linked(RC) { sizes.forEach { read(it) } }
            }

            test("should compare and swap, and fetch and add, on RC $direction") {
                linked(RC) {
                    to.putLong(TARGET + 8, 42)
                    val into = listOf(Piece(0, 8))
                    listOf(
                        Request(1, COMPARE_AND_SWAP, into, at(8), number = 42, swap = -5) to (42L to -5L),
                        Request(2, COMPARE_AND_SWAP, into, at(8), number = 42, swap = 77) to (-5L to -5L),
                        Request(3, FETCH_AND_ADD, into, at(8), number = 0x1234_5678_9abc_def0) to
                            (-5L to 0x1234_5678_9abc_deeb),
                    ).forEach { (request, values) ->
                        from.post(listOf(request))
                        from.take(1).single().shouldBe(request.id, request.operation)
                        from.long(0) to to.long(TARGET + 8) shouldBe values
                    }
                }
            }

            test("should write through a window and end its key by a send with invalidate on RC $direction") {
                linked(RC) {
                    val window = to.bindWindow(Piece(TARGET, 5000))
                    from.fill(Piece(0, 5000), seed = 5)
                    from.post(listOf(Request(1, WRITE, listOf(Piece(0, 5000)), window)))
                    from.take(1).single().shouldBe(1, WRITE)
                    to.mismatch(Piece(TARGET, 5000), seed = 5) shouldBe -1
                    to.receive(7, listOf(Piece(TARGET + 20_000, 900)))
                    val key = RemoteMemory.parse(window).rkey()
                    from.post(listOf(Request(2, SEND_WITH_INVALIDATE, listOf(Piece(0, 900)), word = key)))
                    from.take(1).single().shouldBe(2, SEND_WITH_INVALIDATE)
                    to.take(1).single().bytes shouldBe 900
                    from.post(listOf(Request(3, WRITE, listOf(Piece(0, 8)), window)))
                    from.take(1).single().status shouldBe REM_ACCESS_ERR
                }
            }

            test("should carry datagrams on UD $direction") {
                linked(UD) {
                    for (size in listOf(0, 1, 1023, 1024)) {
                        from.fill(Piece(0, size), seed = size)
                        to.receive(TARGET, listOf(Piece(TARGET, GRH + size)))
                        val pieces = listOf(Piece(0, size)).filter { size > 0 }
                        from.post(listOf(Request(1, SEND_WITH_IMMEDIATE, pieces, word = -size)))
                        from.take(1).single().shouldBe(1, SEND)
                        to.take(1).single().copy(sender = null) shouldBe
                            Done(TARGET, SUCCESS, RECV, GRH + size.toLong(), -size, fromNumber, null)
                        to.mismatch(Piece(TARGET + GRH, size), seed = size) shouldBe -1
                    }
                }
            }
        }

        test("should send to a shared receive queue of Pyverbs") {
            Station(DEVICE).use { ours ->
                PyverbsSide(DEVICE, gidIndex(), sharesReceives = true).use { theirs ->
                    Linked(ours, theirs, RC, Patience()).run {
                        for (size in sizes) {
                            listOf(SEND, SEND_WITH_IMMEDIATE, WRITE_WITH_IMMEDIATE).forEach { carry(it, size) }
                        }
                    }
                }
            }
        }

        test("should receive from Pyverbs by a shared receive queue") {
            Device.byName(DEVICE).open().use { context ->
                val pd = context.protectionDomain()
                val cq = context.completionQueue(CompletionQueueAttributes.of(16))
                val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(16, 1))
                val attributes = QueuePairInitAttributes.of(RC, cq).with(CAPABILITIES).with(srq)
                val region = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
                PyverbsSide(DEVICE, gidIndex()).use { theirs ->
                    val qp = pd.queuePair(attributes)
                    qp.connect(QueuePairEndpoint.parse(theirs.open(RC, Patience())))
                    theirs.connect(qp.endpoint().toText())
                    theirs.fill(Piece(0, 1500), seed = 3)
                    srq.postReceive(7, region.slice())
                    theirs.post(listOf(Request(1, SEND_WITH_IMMEDIATE, listOf(Piece(0, 1500)), word = 12)))
                    theirs.take(1).single().shouldBe(1, SEND_WITH_IMMEDIATE)
                    cq.takeOne().shouldBeDone(7, RECV, qp, bytes = 1500, immediate = 12)
                    region.bytes(1500) shouldBe pattern(1500, seed = 3)
                }
            }
        }
    })

private fun gidIndex() = Device.byName(DEVICE).open().use { it.defaultGidIndex(PORT) }
