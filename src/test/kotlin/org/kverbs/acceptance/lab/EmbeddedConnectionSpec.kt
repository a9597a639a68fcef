package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.acceptance.contract.await

/** A program of rdma-core with its options. The counts of [parts] are its defaults, or among these. */
private class Program(
    val name: String,
    val options: List<String>,
    private val ownPort: Int? = null,
    val server: (port: Int) -> List<String>,
    val client: (port: Int) -> List<String>,
) {
    val port: Int by lazy { ownPort ?: freePort() }
}

private val programs =
    listOf(
        Program(
            "rping",
            listOf("-V", "-C", "$PINGS", "-S", "$PING_BYTES"),
            server = { listOf("-s", "-a", SoftRoceWire.HERE, "-p", "$it") },
            client = { listOf("-c", "-a", SoftRoceWire.ALSO_THERE, "-p", "$it") },
        ),
        Program(
            "ucmatose",
            listOf("-C", "$TALK_MESSAGES", "-S", "$TALK_BYTES"),
            server = { listOf("-b", SoftRoceWire.HERE, "-p", "$it") },
            client = { listOf("-s", SoftRoceWire.ALSO_THERE, "-p", "$it") },
        ),
        Program(
            "udaddy",
            listOf("-C", "$TALK_MESSAGES", "-S", "$TALK_BYTES"),
            ownPort = 7174,
            server = { listOf("-b", SoftRoceWire.HERE) },
            client = { listOf("-s", SoftRoceWire.ALSO_THERE) },
        ),
    )

/** Programs of rdma-core on Soft-RoCE, connected by the kernel's connection manager with the embedded device's, both ways. */
internal class EmbeddedConnectionSpec :
    FunSpec({
        for (program in programs) {
            test("should connect to a server of ${program.name}, talk with it, and disconnect") {
                CProgram(program.name, *(program.server(program.port) + program.options).toTypedArray()).use { c ->
                    await("a listener of ${program.name}") { isListening(program.name) }
                    ours(program, "client", SoftRoceWire.HERE, "${program.port}").shouldBeDone()
                    c.shouldBeDone()
                }
            }

            test("should serve a client of ${program.name}, and be disconnected by it or disconnect") {
                val ours = ours(program, "server", "${program.port}")
                ours.inputReader().readLine() shouldBe Connecting.LISTENS
                CProgram(program.name, *(program.client(program.port) + program.options).toTypedArray()).use { it.shouldBeDone() }
                ours.shouldBeDone()
            }
        }

        test("should be told by the kernel that nobody listens, and tell it so") {
            val asking = SoftRoceWire.startJava(SoftRoceWire.ALSO_THERE, "ConnectionProgram", "nobody", "client", SoftRoceWire.HERE, "1")
            asking.shouldBeDone()
            FarSide.running().memory() // opens the device there
            CProgram("ucmatose", "-s", SoftRoceWire.THERE, "-p", "1").use { c ->
                val (_, text) = c.end()
                withClue(text) { text.contains("RDMA_CM_EVENT_REJECTED, error: 8") shouldBe true }
            }
        }
    })

private fun ours(
    program: Program,
    vararg arguments: String,
): Process = SoftRoceWire.startJava(SoftRoceWire.ALSO_THERE, "ConnectionProgram", program.name, *arguments)

private fun isListening(program: String): Boolean =
    said("rdma", "resource", "show", "cm_id").lines().any { "state LISTEN" in it && "comm $program" in it }

private fun Process.shouldBeDone() {
    await("the end of the embedded side") { !isAlive }
    val text = inputReader().readText()
    withClue(text) { exitValue() shouldBe 0 }
}

private fun CProgram.shouldBeDone() {
    val (status, text) = end()
    withClue(text) { status shouldBe 0 }
}
