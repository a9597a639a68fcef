package org.kverbs.dsl

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain

private const val NO_RECEIVER = "receiver type mismatch"
private const val NO_ADDRESS = "No value passed for parameter 'to'"
private const val NO_QUEUE = "No value passed for parameter 'srq'"
private const val NO_SUCH_ADDRESS = "No parameter with name 'to' found"
private const val INTERNAL = "it is internal in"
private const val OUTER = "implicit receiver"

/** A line that must not compile, the expected error, and a line of the same shape that must compile. */
private class Case(
    val name: String,
    val wrong: String,
    val why: String,
    val right: String,
)

private fun post(
    transport: String,
    call: String,
) = "pd.qp($transport) { cq(cq) }.post { $call }"

private val cases =
    listOf(
        Case(
            "a read on UC",
            post("UC", "read(remote, into = local)"),
            NO_RECEIVER,
            post("RC", "read(remote, into = local)"),
        ),
        Case(
            "a write on UD",
            post("UD", "write(local, to = remote)"),
            NO_RECEIVER,
            post("UC", "write(local, to = remote)"),
        ),
        Case(
            "a send without an address on UD",
            post("UD", "send(local)"),
            NO_ADDRESS,
            post("UD", "send(local, to = peer)"),
        ),
        Case(
            "a send with an address on RC",
            post("RC", "send(local, to = peer)"),
            NO_SUCH_ADDRESS,
            post("RC", "send(local)"),
        ),
        Case(
            "a send without a queue on XRC",
            post("XRC_SEND", "send(local)"),
            NO_QUEUE,
            post("XRC_SEND", "send(local, RemoteSrq(1))"),
        ),
        Case(
            "a write without a queue on XRC",
            post("XRC_SEND", "write(local, to = remote)"),
            NO_QUEUE,
            post("XRC_SEND", "write(local, to = remote, srq = RemoteSrq(1)).fence()"),
        ),
        Case(
            "a peer named by a request of RC",
            post("RC", "write(local, to = remote).toPeer(peer)"),
            NO_RECEIVER,
            "pd.qp { type(RC); cq(cq) }.post { write(local, to = remote).toPeer(peer).signaled() }",
        ),
        Case(
            "a receive on the sending end of XRC",
            "pd.qp(XRC_SEND) { cq(cq) }.postReceive(local)",
            NO_RECEIVER,
            "pd.qp(RC) { cq(cq) }.postReceive(local)",
        ),
        Case(
            "an atomic on UC",
            post("UC", "compareAndSwap(remote, 1, 2, into = local)"),
            NO_RECEIVER,
            post("RC", "compareAndSwap(remote, 1, 2, into = local)"),
        ),
        Case(
            "an atomic write on UC",
            post("UC", "atomicWrite(1, to = remote)"),
            NO_RECEIVER,
            post("RC", "atomicWrite(1, to = remote)"),
        ),
        Case(
            "a flush on UD",
            post("UD", "flush(remote)"),
            NO_RECEIVER,
            post("RC", "flush(remote); flushRegion(remote.rkey(), FlushPlacement.PERSISTENT)"),
        ),
        Case(
            "a fence on UC",
            post("UC", "write(local, to = remote).fence()"),
            NO_RECEIVER,
            post("RC", "write(local, to = remote).fence()"),
        ),
        Case(
            "a flag that is called on no request",
            post("RC", "send(local); signaled()"),
            "annot infer type",
            post("RC", "send(local).signaled()"),
        ),
        Case("connect on UD", "pd.qp(UD) { cq(cq) }.connect(end)", NO_RECEIVER, "pd.qp(UC) { cq(cq) }.connect(end)"),
        Case("activate on RC", "pd.qp(RC) { cq(cq) }.activate()", NO_RECEIVER, "pd.qp(UD) { cq(cq) }.activate()"),
        Case(
            "a type in the typed form",
            "pd.qp(RC) { type(RC); cq(cq) }",
            "Unresolved reference 'type'",
            "pd.qp { type(RC); cq(cq) }",
        ),
        Case(
            "an outer builder's setter in an inner block",
            "pd.qp { type(RC); pd.srq { maxRecvWr(1) }; cq(cq) }",
            OUTER,
            "pd.qp { type(RC); pd.srq { maxWr(1) }; cq(cq) }",
        ),
        Case(
            "a queue pair of one transport made to be one of another",
            "TypedQueuePair<RcVerbs>(pd.qp(UD) { cq(cq) }.queuePair)",
            INTERNAL,
            "pd.qp(RC) { cq(cq) }.queuePair",
        ),
        Case(
            "a list of requests made to be for another transport",
            "SendScope<RcVerbs>(SendRequests()).read(remote, into = local)",
            INTERNAL,
            "pd.qp(RC) { cq(cq) }.compose(SendRequests()) { read(remote, into = local) }",
        ),
        Case(
            "a read composed for UC",
            "pd.qp(UC) { cq(cq) }.compose(SendRequests()) { read(remote, into = local) }",
            NO_RECEIVER,
            "pd.qp(UC) { cq(cq) }.compose(SendRequests()) { writeEmpty(to = remote) }",
        ),
        Case("a suspension in a post", post("RC", "pause()"), "uspension", post("RC", "pause(1)")),
    )

/** The call stands on line 11, below the package. */
private fun program(call: String) =
    """
    import org.kverbs.*
    import org.kverbs.attributes.*
    import org.kverbs.dsl.*

    suspend fun pause() {}
    fun pause(times: Int) = times

    @Suppress("UNUSED_PARAMETER")
    suspend fun use(pd: ProtectionDomain, cq: CompletionQueue, local: MemorySlice, remote: RemoteMemory, peer: Destination, end: QueuePairEndpoint) {
        $call
    }
    """.trimIndent()

private fun programs(call: (Case) -> String) =
    cases.withIndex().associate { (i, case) -> "Case$i" to "package case$i\n" + program(call(case)) }

internal class WrongCallsSpec :
    FunSpec({
        val errors by lazy { compile(programs { it.wrong }).groupBy { it.file } }

        cases.forEachIndexed { i, case ->
            test("should not compile ${case.name}") {
                val found = errors["Case$i"].orEmpty()
                withClue(found) {
                    found.map { it.line }.distinct() shouldBe listOf(11)
                    found.first().text shouldContain case.why
                }
            }
        }

        test("should compile the right call of the same shape") {
            compile(programs { it.right }).shouldBeEmpty()
        }
    })
