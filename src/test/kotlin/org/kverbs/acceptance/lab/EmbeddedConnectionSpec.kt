package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.string.shouldContain

/**
 * Connects programs of rdma-core and of Pyverbs on Soft-RoCE, by the kernel's connection manager, with the embedded device's, in both
 * roles.
 */
internal class EmbeddedConnectionSpec :
    FunSpec({
        val far by lazy { FarSide.running().also { it.memory() } } // which opens the device there

        for (program in TalkProgram.all) {
            test("should connect to a server of ${program.name}, talk with it, and disconnect") {
                far
                val port = program.port()
                program.startServer(SoftRoceWire.HERE, port).use { c ->
                    far.startTalk(program.name, "client", SoftRoceWire.HERE, port)
                    far.endTalk()
                    c.shouldSucceed()
                }
            }

            test("should serve a client of ${program.name}, and be disconnected by it or disconnect") {
                val port = program.port()
                far.startTalk(program.name, "server", SoftRoceWire.THERE, port)
                program.startClient(SoftRoceWire.THERE, port).use { it.shouldSucceed() }
                far.endTalk()
            }
        }

        test("should receive from Pyverbs in a multicast group, and send to it") {
            val program = TalkProgram.MULTICAST
            val port = program.port()
            far.startTalk(program.name, "server", SoftRoceWire.THERE, port)
            program.startClient(SoftRoceWire.HERE, port).use { it.shouldSucceed() }
            far.endTalk()
        }

        test("should be rejected by a server of Pyverbs with its private data, and reject a client so") {
            val program = TalkProgram.REFUSAL
            far
            val port = program.port()
            program.startServer(SoftRoceWire.HERE, port).use { server ->
                far.startTalk(program.name, "client", SoftRoceWire.HERE, port)
                far.endTalk()
                server.shouldSucceed()
            }
            far.startTalk(program.name, "server", SoftRoceWire.THERE, port)
            program.startClient(SoftRoceWire.THERE, port).use { it.shouldSucceed() }
            far.endTalk()
        }

        test("should be told by the kernel that no service listens, and tell the kernel the same") {
            far.startTalk("nobody", "client", SoftRoceWire.HERE, 1)
            far.endTalk()
            CProgram("ucmatose", "-s", SoftRoceWire.THERE, "-p", "1").use { c ->
                val (_, text) = c.end()
                withClue(text) { text shouldContain "RDMA_CM_EVENT_REJECTED, error: 8" }
            }
        }
    })
