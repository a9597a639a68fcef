package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.acceptance.docs.Compiled
import java.nio.file.Path
import kotlin.io.path.createTempDirectory

private const val NO_RECEIVER = "receiver type mismatch"

/** What the compiler says for a name with overloads, none of which is of the transport. */
private const val NO_OVERLOAD = "none of the following candidates is applicable"

/** A call that must not compile, a part of the error, and a call of the same shape that must compile. */
private class WrongCall(
    val name: String,
    val wrong: String,
    val why: String,
    val right: String,
)

private val calls =
    listOf(
        WrongCall("a send without a queue on XRC", "xrc.send(local)", "parameter 'srq'", "xrc.send(local, srq)"),
        WrongCall(
            "a send of a pooled buffer without a queue on XRC",
            "xrc.send(buffer)",
            "parameter 'srq'",
            "xrc.send(buffer, srq, length = 8)",
        ),
        WrongCall("a send with a queue on RC", "rc.send(local, srq)", "mismatch", "rc.send(local)"),
        WrongCall(
            "a write without a queue on XRC",
            "xrc.write(local, to = remote)",
            "parameter 'srq'",
            "xrc.write(local, to = remote, srq = srq)",
        ),
        WrongCall(
            "an atomic without a queue on XRC",
            "xrc.fetchAndAdd(remote, 1)",
            "parameter 'srq'",
            "xrc.fetchAndAdd(remote, 1, srq)",
        ),
        WrongCall("a receive on the sending end of XRC", "xrc.receive(local)", NO_OVERLOAD, "rc.receive(local)"),
        WrongCall(
            "a posted receive on the sending end of XRC",
            "xrc.postReceive(local)",
            NO_OVERLOAD,
            "rc.postReceive(local)",
        ),
        WrongCall(
            "a batch without a queue on XRC",
            "xrc.batch { send(local) }",
            "parameter 'srq'",
            "xrc.batch { send(local, srq) }",
        ),
        WrongCall("a flush on XRC", "xrc.flush(remote)", NO_RECEIVER, "rc.flush(remote)"),
        WrongCall("a read on UD", "ud.read(remote, into = local)", NO_OVERLOAD, "rc.read(remote, into = local)"),
    )

/** The call stands on line 12. */
private fun program(
    number: Int,
    call: String,
) = """
    package call$number
    import org.kverbs.*
    import org.kverbs.coroutines.*
    import org.kverbs.dsl.*

    suspend fun use(
        xrc: AsyncQueuePair<XrcVerbs>, rc: AsyncQueuePair<RcVerbs>, ud: AsyncQueuePair<UdVerbs>,
        local: MemorySlice, buffer: RegisteredBuffer, remote: RemoteMemory, srq: RemoteSrq,
    ) {
        // the call
        //
        $call
    }
    """.trimIndent()

private fun compiled(
    folder: Path,
    call: (WrongCall) -> String,
) = Compiled.of(calls.withIndex().associate { (i, it) -> "Call$i.kt" to program(i, call(it)) }, folder)

internal class WrongCoroutineCallsSpec :
    FunSpec({
        val folder = createTempDirectory("calls")
        val errors by lazy { compiled(folder, WrongCall::wrong).errors.lines() }

        calls.forEachIndexed { i, call ->
            test("should not compile ${call.name}") {
                val found = errors.filter { "Call$i.kt:" in it && "error:" in it }
                withClue(errors) {
                    found.map { it.substringAfter(".kt:").substringBefore(':') }.distinct() shouldBe
                        listOf("12")
                }
                found.joinToString() shouldContain call.why
            }
        }

        test("should compile the right call of the same shape") {
            compiled(folder, WrongCall::right).errors shouldBe ""
        }

        afterSpec { folder.toFile().deleteRecursively() }
    })
