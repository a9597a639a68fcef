package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletionStatus.LOC_LEN_ERR
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.LOC_QP_OP_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.RNR_RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.acceptance.contract.Capability.FLUSHES_LATE_RECEIVES
import org.kverbs.acceptance.contract.Capability.PRECISE_LOCAL_ERRORS
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import kotlin.time.Duration.Companion.milliseconds

/** Checks requests that were accepted and then fail. */
internal class RemoteErrorSpec :
    ContractSpec({
        /** The status of a device that does not tell local errors apart. */
        fun orOperationError(status: WorkCompletionStatus) =
            if (PRECISE_LOCAL_ERRORS in device.capabilities) {
                status
            } else {
                LOC_QP_OP_ERR
            }

        fails("a send whose lkey is wrong", device.localError(orOperationError(LOC_PROT_ERR))) { a, _ ->
            send(1).entry(
                a.mr.address(),
                8,
                a.mr.lkey() xor 0x5500,
            )
        }
        fails(
            "a send beyond its region",
            device.localError(LOC_PROT_ERR),
        ) { a, _ -> send(1).entry(a.mr.address() + a.mr.length() - 4, 8, a.mr.lkey()) }
        fails("a write whose rkey is wrong", REM_ACCESS_ERR) { a, b ->
            write(1, b.mr.address(), b.mr.rkey() xor 0x5500).from(a.mr.slice(0, 8))
        }
        fails("a write beyond the peer's region", REM_ACCESS_ERR) { a, b ->
            write(1, b.mr.address() + b.mr.length() - 4, b.mr.rkey()).from(a.mr.slice(0, 8))
        }
        fails("a write before the peer's region", REM_ACCESS_ERR) { a, b ->
            write(1, b.mr.address() - 4, b.mr.rkey()).from(a.mr.slice(0, 8))
        }
        fails("a read whose rkey is wrong", REM_ACCESS_ERR) { a, b ->
            read(1, b.mr.address(), b.mr.rkey() xor 0x5500).into(a.mr.slice(0, 8))
        }
        fails("a read beyond the peer's region", REM_ACCESS_ERR) { a, b ->
            read(1, b.mr.address() + b.mr.length() - 4, b.mr.rkey()).into(a.mr.slice(0, 8))
        }
        fails("a write to a region without REMOTE_WRITE", REM_ACCESS_ERR) { a, b ->
            write(
                1,
                b.qp
                    .protectionDomain()
                    .memoryRegion(64, LOCAL_WRITE, REMOTE_READ)
                    .remote(),
            ).from(a.mr.slice(0, 8))
        }
        fails("a read of a region without REMOTE_READ", REM_ACCESS_ERR) { a, b ->
            read(
                1,
                b.qp
                    .protectionDomain()
                    .memoryRegion(64, LOCAL_WRITE, REMOTE_WRITE)
                    .remote(),
            ).into(a.mr.slice(0, 8))
        }
        fails("a read into a region without LOCAL_WRITE", LOC_PROT_ERR) { a, b ->
            read(1, b.mr.remote()).into(
                a.qp
                    .protectionDomain()
                    .memoryRegion(64)
                    .slice(0, 8),
            )
        }
        fails("a write to a region of another protection domain", REM_ACCESS_ERR) { a, b ->
            val other =
                b.qp
                    .protectionDomain()
                    .context()
                    .protectionDomain()
            write(1, other.memoryRegion(64, *FULL_ACCESS).remote()).from(a.mr.slice(0, 8))
        }
        fails("a write to a region that was closed", REM_ACCESS_ERR) { a, b ->
            val remote = b.mr.remote()
            b.mr.close()
            write(1, remote).from(a.mr.slice(0, 8))
        }
        fails("a write through a queue pair without REMOTE_WRITE", REM_INV_REQ_ERR, allowing(REMOTE_READ)) { a, b ->
            write(1, b.mr.remote()).from(a.mr.slice(0, 8))
        }
        fails("a read through a queue pair without REMOTE_READ", REM_INV_REQ_ERR, allowing(REMOTE_WRITE)) { a, b ->
            read(1, b.mr.remote()).into(a.mr.slice(0, 8))
        }
        fails(
            "a send to a peer that has no receive",
            RNR_RETRY_EXC_ERR,
            impatientWithReceiver,
        ) { a, _ -> send(1).from(a.mr.slice(0, 8)) }
        fails("a send to a peer that is gone", RETRY_EXC_ERR, impatient) { a, b ->
            b.qp.close()
            send(1).from(a.mr.slice(0, 8))
        }

        case("should fail a message that is longer than its receive, at both ends", RAW_CONNECT) {
            val (a, b) = linked()
            b.qp.postReceive(7, b.mr.slice(0, 10))
            a.post { send(1).from(a.mr.slice(0, 11)) }
            val precise = PRECISE_LOCAL_ERRORS in device.capabilities
            a.cq.takeOne().shouldHaveFailed(1, if (precise) REM_INV_REQ_ERR else REM_OP_ERR, a.qp)
            b.cq.takeOne().shouldHaveFailed(7, orOperationError(LOC_LEN_ERR), b.qp)
        }

        case("should fail a receive into a region without LOCAL_WRITE, at both ends", RAW_CONNECT) {
            val (a, b) = linked()
            b.qp.postReceive(7, pd.memoryRegion(64).slice())
            a.post { send(1).from(a.mr.slice(0, 8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_OP_ERR, a.qp)
            b.cq.takeOne().shouldHaveFailed(7, orOperationError(LOC_PROT_ERR), b.qp)
        }

        case("should flush the requests after a failure, in order, and be in the error state", RAW_CONNECT) {
            val (a, b) = linked()
            a.qp.postReceive(21, a.mr.slice())
            a.qp.postReceive(22, a.mr.slice())
            a.post {
                write(1, b.mr.address(), b.mr.rkey() xor 0x5500).from(a.mr.slice(0, 8))
                write(2, b.mr.remote()).from(a.mr.slice(0, 8))
                send(3).from(a.mr.slice(0, 8)).signaled()
            }
            val done = a.cq.take(5)
            val (receives, sends) = done.partition { it.workRequestId() > 20 }
            sends[0].shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
            sends[1].shouldHaveFailed(2, WR_FLUSH_ERR, a.qp)
            sends[2].shouldHaveFailed(3, WR_FLUSH_ERR, a.qp)
            receives[0].shouldHaveFailed(21, WR_FLUSH_ERR, a.qp)
            receives[1].shouldHaveFailed(22, WR_FLUSH_ERR, a.qp)
            a.qp.state() shouldBe QueuePairState.ERR
        }

        case("should flush receives and sends in order when it is moved to the error state", RAW_CONNECT) {
            val (a, b) = linked()
            (1L..3L).forEach { b.qp.postReceive(it, b.mr.slice()) }
            b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
            b.cq.take(3).forEachIndexed { i, done -> done.shouldHaveFailed(i + 1L, WR_FLUSH_ERR, b.qp) }
            // Requests that are posted now are flushed, too, which shows that an error completes without a signal.
            b.post { repeat(3) { send(11L + it).from(b.mr.slice(0, 8)) } }
            b.cq.take(3).forEachIndexed { i, done -> done.shouldHaveFailed(11L + i, WR_FLUSH_ERR, b.qp) }
            b.qp.postReceive(4, b.mr.slice())
            if (FLUSHES_LATE_RECEIVES in device.capabilities) {
                b.cq.takeOne().shouldHaveFailed(4, WR_FLUSH_ERR, b.qp)
            } else {
                // Linux 6.1 flushes none of them, 6.12 one in a hundred. Whatever comes must be this receive.
                b.cq.pollFor(50.milliseconds).forEach { it.shouldHaveFailed(4, WR_FLUSH_ERR, b.qp) }
            }
            a.qp.state() shouldBe QueuePairState.RTS
        }
    })

/** Gives up after the second attempt, within milliseconds. */
private val impatient =
    ConnectOptions
        .builder()
        .timeout(8)
        .retryCount(1)
        .rnrRetry(1)
        .minRnrTimer(1)
        .build()

/**
 * Gives up after the second attempt at a peer that has no receive, within milliseconds. Its answers may take long: a
 * machine that is busy can let the thread that sends them wait.
 */
private val impatientWithReceiver =
    ConnectOptions
        .builder()
        .rnrRetry(1)
        .minRnrTimer(1)
        .build()

private fun allowing(vararg access: AccessFlag) = ConnectOptions.builder().access(access.asList()).build()

/** Adds a case in which one unsignaled request from a to b, with id 1, fails, and its exception tells so. */
private fun Contract.fails(
    what: String,
    status: WorkCompletionStatus,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    request: SendRequests.(End, End) -> Unit,
) = case("should fail $what with $status", RAW_CONNECT) {
    val (a, b) = linked(options = options)
    b.mr.put(pattern(64))
    a.post { request(a, b) }
    val failed = a.cq.takeOne()
    failed.shouldHaveFailed(1, status, a.qp)
    val thrown = shouldThrow<WorkCompletionException> { failed.orThrow() }
    thrown.status() shouldBe status
    thrown.queuePairNumber() shouldBe a.qp.number()
    // The id tells the operation; a device need not report it.
    thrown.message shouldContain "work request 1 on queue pair "
    thrown.message shouldContain "IBV_WC_$status"
    thrown.message shouldContain status.text()
    if (b.mr.isOpen) b.mr.bytes(64) shouldBe pattern(64)
    a.qp.state() shouldBe QueuePairState.ERR
}
