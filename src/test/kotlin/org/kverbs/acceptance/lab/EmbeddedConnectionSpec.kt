package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.acceptance.contract.await

/** A program of rdma-core with its options. */
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
            client = { listOf("-c", "-a", SoftRoceWire.THERE, "-p", "$it") },
        ),
        Program(
            "ucmatose",
            listOf("-C", "$TALK_MESSAGES", "-S", "$TALK_BYTES"),
            server = { listOf("-b", SoftRoceWire.HERE, "-p", "$it") },
            client = { listOf("-s", SoftRoceWire.THERE, "-p", "$it") },
        ),
        Program(
            "udaddy",
            listOf("-C", "$TALK_MESSAGES", "-S", "$TALK_BYTES"),
            ownPort = 7174,
            server = { listOf("-b", SoftRoceWire.HERE) },
            client = { listOf("-s", SoftRoceWire.THERE) },
        ),
    )

/** Programs of rdma-core on Soft-RoCE, connected by the kernel's connection manager with the embedded device's, both ways. */
internal class EmbeddedConnectionSpec :
    FunSpec({
        val far by lazy { FarSide.running().also { it.memory() } } // which opens the device there

        for (program in programs) {
            test("should connect to a server of ${program.name}, talk with it, and disconnect") {
                far
                CProgram(program.name, *(program.server(program.port) + program.options).toTypedArray()).use { c ->
                    await("a listener of ${program.name}") { isListening(program.name) }
                    far.startTalk(program.name, "client", SoftRoceWire.HERE, program.port)
                    far.endTalk()
                    c.shouldBeDone()
                }
            }

            test("should serve a client of ${program.name}, and be disconnected by it or disconnect") {
                far.startTalk(program.name, "server", SoftRoceWire.THERE, program.port)
                CProgram(program.name, *(program.client(program.port) + program.options).toTypedArray()).use { it.shouldBeDone() }
                far.endTalk()
            }
        }

        test("should be told by the kernel that nobody listens, and tell it so") {
            far.startTalk("nobody", "client", SoftRoceWire.HERE, 1)
            far.endTalk()
            CProgram("ucmatose", "-s", SoftRoceWire.THERE, "-p", "1").use { c ->
                val (_, text) = c.end()
                withClue(text) { text.contains("RDMA_CM_EVENT_REJECTED, error: 8") shouldBe true }
            }
        }
    })

private fun isListening(program: String): Boolean =
    said("rdma", "resource", "show", "cm_id").lines().any { "state LISTEN" in it && "comm $program" in it }

private fun CProgram.shouldBeDone() {
    val (status, text) = end()
    withClue(text) { status shouldBe 0 }
}
