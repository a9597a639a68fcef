package org.kverbs.management.rmpp

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.comparables.shouldBeLessThan
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runTest
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.lid
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.structures.RMPPType
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import java.io.IOException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.time.Duration.Companion.minutes

/** A first segment of an answer to [request]. */
private fun beginning(request: ByteArray): ByteArray {
    val mad = longMessage(200, Rmpp.transaction(request), Method.GET_TABLE_RESP)
    Rmpp.write(mad, RMPPType.DATA, RMPPFlag.ACTIVE + RMPPFlag.FIRST, RMPPStatus.NORMAL, 1, 0)
    return mad
}

@OptIn(ExperimentalCoroutinesApi::class)
class HostilePeerSpec :
    FunSpec({
        test("should end a query whose answer begins again and again, from ever other ports") {
            runTest(timeout = 1.minutes) {
                val wire = Wire(backgroundScope)
                val context = backgroundScope.coroutineContext
                val asking =
                    fabric(wire.first) {
                        context(context)
                        retries(0)
                        rmpp(RmppSettings(total = 1.minutes))
                    }
                val query = async { shouldThrow<MadException> { asking.sa.records<NodeRecord>() } }
                delay(10)
                val request = wire.packets.first()
                var peer = 2
                while (query.isActive && currentTime < 600_000) {
                    wire.first.deliver(beginning(request), lid(peer++))
                    delay(500)
                }
                query.await()
                currentTime shouldBeLessThan 65_000L
                asking.counters.outstanding shouldBe 0
            }
        }

        test("should call no receiver while others wait for the transport") {
            runTest {
                val wire = Wire(backgroundScope)
                lateinit var transport: RmppTransport
                var isFree = false
                transport = RmppTransport(wire.second, context = backgroundScope.coroutineContext)
                transport.receive(
                    object : MadReceiver by Inbox() {
                        override fun ignored(mad: ByteArray) {
                            isFree = CompletableFuture.supplyAsync { transport.underWay }.get(5, SECONDS) == 0
                        }
                    },
                )
                val middle = beginning(longMessage(0))
                Rmpp.write(middle, RMPPType.DATA, RMPPFlag.ACTIVE, RMPPStatus.NORMAL, 5, 0)
                wire.second.deliver(middle, lid(1))
                isFree shouldBe true
            }
        }

        test("should answer other ports while one of them acknowledges nothing") {
            runTest {
                val wire = Wire(backgroundScope)
                val context = backgroundScope.coroutineContext
                val server = fabric(wire.second) { context(context) }
                val client = fabric(wire.first) { context(context) }
                val records =
                    List(50) { index -> NodeRecord { nodeDescription.nodeString = "node $index" } }
                server.serve(ManagementClass.SUBN_ADM) { it.answerRecords(records) }
                client.sa.records<NodeRecord>() shouldBe records
                val request = wire.packets.first()
                for (peer in 10..100) wire.second.deliver(request.copyOf(), lid(peer))
                client.sa.records<NodeRecord>() shouldBe records
            }
        }

        test("should forget messages that their senders leave off, after the transport failed in an unknown way") {
            runTest {
                val wire = Wire(backgroundScope)
                var isFull = true
                val poor =
                    object : MadTransport by wire.second {
                        override fun send(
                            mad: ByteArray,
                            path: MadPath,
                        ) {
                            if (isFull && Rmpp.type(mad) == RMPPType.ABORT) throw IOException("no space left")
                            wire.second.send(mad, path)
                        }
                    }
                val transport = RmppTransport(poor, context = backgroundScope.coroutineContext)
                transport.receive(Inbox())
                wire.second.deliver(beginning(longMessage(0, 1)), lid(1))
                delay(1.minutes)
                transport.underWay shouldBe 0
                isFull = false
                wire.second.deliver(beginning(longMessage(0, 2)), lid(1))
                delay(1.minutes)
                transport.underWay shouldBe 0
            }
        }
    })
