package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.acceptance.contract.DEADLINE
import org.kverbs.acceptance.contract.await

/**
 * A program of rdma-core that makes its connections by librdmacm, with the counts that [parts] expects.
 *
 * @param ownPort the port of a program that has a fixed one
 * @param command the command's first words
 */
internal class TalkProgram(
    val name: String,
    private val options: List<String>,
    private val ownPort: Int? = null,
    private val command: List<String> = listOf(name),
    private val server: (address: String, port: Int) -> List<String>,
    private val client: (address: String, port: Int) -> List<String>,
) {
    val usesDatagrams: Boolean get() = name.startsWith("udaddy")
    val isOfPyverbs: Boolean get() = name.endsWith(OF_PYVERBS)

    fun port(): Int = ownPort ?: freePort()

    /** Starts the server, and returns when a client may connect. */
    fun startServer(
        address: String,
        port: Int,
    ): CProgram {
        val started = program(server(address, port))
        // The first program of Pyverbs loads its libraries, which takes long on an emulated machine.
        await("a listener of $name at port $port", DEADLINE * 3) { hasListener(address, port) || !started.isAlive }
        if (!started.isAlive) started.shouldSucceed()
        return started
    }

    fun startClient(
        address: String,
        port: Int,
    ): CProgram = program(client(address, port))

    private fun program(arguments: List<String>) = CProgram(*(command + arguments + options).toTypedArray())

    companion object {
        private const val DADDYS_PORT = 7174
        private val talk = listOf("-C", "$TALK_MESSAGES", "-S", "$TALK_BYTES")

        /** All programs that talk, of rdma-core and of Pyverbs. */
        val all: List<TalkProgram> get() =
            listOf(RPING, UCMATOSE, UDADDY) +
                listOf("rping", "ucmatose", "udaddy").map(::ofPyverbs)

        /** RDMA reads and writes; the client compares the data (`-V`). */
        val RPING =
            TalkProgram(
                "rping",
                listOf("-V", "-C", "$PINGS", "-S", "$PING_BYTES"),
                server = { address, port -> listOf("-s", "-a", address, "-p", "$port") },
                client = { address, port -> listOf("-c", "-a", address, "-p", "$port") },
            )

        /** Sends both ways; it counts the messages and ignores the data. */
        val UCMATOSE =
            TalkProgram(
                "ucmatose",
                talk,
                server = { address, port -> listOf("-b", address, "-p", "$port") },
                client = { address, port -> listOf("-s", address, "-p", "$port") },
            )

        /** Does the same with datagrams. */
        val UDADDY =
            TalkProgram(
                "udaddy",
                talk,
                ownPort = DADDYS_PORT,
                server = { address, _ -> listOf("-b", address) },
                client = { address, _ -> listOf("-s", address) },
            )

        /** A server that rejects its client, with a reason. */
        val REFUSAL: TalkProgram get() = ofPyverbs("refusal")

        /** A member of the multicast group of a port, at an address of its own. */
        val MULTICAST: TalkProgram get() = ofPyverbs("multicast")

        /** A program of Pyverbs: `pyverbs/talk.py`. */
        private fun ofPyverbs(program: String): TalkProgram {
            fun end(role: String) = { address: String, port: Int -> listOf(program, role, address, "$port") }
            val command = listOf("/usr/bin/python3", "-B", "${pyverbsScript("talk.py")}")
            return TalkProgram("$program$OF_PYVERBS", emptyList(), null, command, end("server"), end("client"))
        }
    }
}

/** Tells whether the kernel's connection manager has a listener there. */
internal fun hasListener(
    address: String,
    port: Int,
): Boolean = said("rdma", "resource", "show", "cm_id").lines().any { "state LISTEN" in it && "$address:$port " in it }

/** Waits for the end of the program, which must succeed. */
internal fun CProgram.shouldSucceed() {
    val (status, text) = end()
    withClue(text) { status shouldBe 0 }
}
