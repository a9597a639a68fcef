package org.kverbs.management.transaction

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.test.runTest
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Guid

/** A fabric in which each request is answered from each of the paths that [from] gives, with the number of the path. */
private class Impostors(
    private val from: (LidPath) -> List<LidPath>,
) : MadTransport {
    private lateinit var receiver: MadReceiver

    override fun port() = MadPort("simulated", NodeInfo(), PortInfo())

    override fun receive(receiver: MadReceiver) {
        this.receiver = receiver
    }

    override fun send(
        mad: ByteArray,
        path: MadPath,
    ) = from(path as LidPath).forEachIndexed { index, back ->
        val answer = mad.copyOf()
        MADHeader.at(answer).method = Method.GET_RESP
        NodeInfo.at(answer, DATA).nodeGUID = Guid(index + 1L)
        receiver.received(answer, back)
    }

    override fun close() = Unit
}

private fun roce(gid: String) = LidPath(lid(1).destination, globalRoute = GlobalRoute(Gid.parse(gid), 0, 0, 64, 0))

class HostileReplySpec :
    FunSpec({
        test("should take an answer only from the port that was asked") {
            val cases =
                listOf(
                    lid(5) to lid(6),
                    roce("fe80::5") to roce("fe80::6"),
                )
            for ((asked, other) in cases) {
                runTest {
                    fabric(Impostors { listOf(other, asked) }).use { fabric ->
                        fabric.get<NodeInfo>(asked).nodeGUID shouldBe Guid(2)
                        fabric.counters[MadEventKind.UNEXPECTED] shouldBe 1
                        fabric.counters[MadEventKind.COMPLETED] shouldBe 1
                    }
                }
            }
        }

        test("should take an answer whose way back names other details of the same port") {
            runTest {
                val asked = LidPath(lid(5).destination, source = lid(9).destination, partitionKey = 0x7fff)
                fabric(Impostors { listOf(lid(5)) }).use { it.get<NodeInfo>(asked).nodeGUID shouldBe Guid(1) }
            }
        }

        test("should outlive a listener that throws an Error, and hand it to the thread's handler") {
            runTest {
                val thread = Thread.currentThread()
                val handler = thread.uncaughtExceptionHandler
                val thrown = mutableListOf<String?>()
                thread.setUncaughtExceptionHandler { _, e -> thrown += e.message }
                try {
                    val fabric = FaultyTransport { deliver(answerTo(it)) }
                    MadTransactor(fabric) { throw NotImplementedError("${it.kind}") }
                        .guidAt(directed(0, 1)) shouldBe guidAt(listOf(0, 1))
                } finally {
                    thread.uncaughtExceptionHandler = handler
                }
                thrown shouldContainExactly listOf("SENT", "COMPLETED")
            }
        }
    })
