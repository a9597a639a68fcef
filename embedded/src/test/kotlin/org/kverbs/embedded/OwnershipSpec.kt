package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.MemoryWindow
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletionStatus.MW_BIND_ERR
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import java.util.concurrent.CyclicBarrier
import kotlin.concurrent.thread

/** Checks objects that belong to another context, or that were closed. */
class OwnershipSpec :
    FunSpec({
        test("should refuse an address handle of another open device") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val device = fabric.addDevice()
                End(device, QueuePairType.UD, 64).use { own ->
                    End(device, QueuePairType.UD, 64).use { other ->
                        listOf(own, other).forEach { it.qp.activate(ConnectOptions.DEFAULTS) }
                        own.qp.addressHandle(own.qp.endpoint(), ConnectOptions.DEFAULTS)
                        val foreign = other.qp.addressHandle(other.qp.endpoint(), ConnectOptions.DEFAULTS)
                        shouldThrow<WorkRequestException> {
                            own.post { send(1).from(own.mr.slice()).to(foreign, other.qp.number(), 0) }
                        }.errnoName() shouldBe "EINVAL"
                    }
                }
            }
        }

        test("should leave a group that is joined while the queue pair is being closed") {
            EmbeddedFabric.virtual(1).use { fabric ->
                End(fabric.addDevice(), QueuePairType.UD, 64).use { end ->
                    repeat(3000) {
                        val qp =
                            end.qp.protectionDomain().queuePair(
                                QueuePairInitAttributes.of(QueuePairType.UD, end.cq),
                            )
                        val gate = CyclicBarrier(2)
                        val joining =
                            thread {
                                gate.await()
                                runCatching { qp.attachMulticast(Gid.parse("::ffff:224.0.0.9"), 0) }
                            }
                        gate.await()
                        qp.close()
                        joining.join()
                    }
                }
            }
        }

        test("should not bind a window to a region that was closed before its turn came") {
            refuseBinding { region, _ -> region.close() }
        }

        test("should not bind a window that was closed before its turn came, so that its region can be closed") {
            refuseBinding { _, window -> window.close() }
        }
    })

/** Posts a binding that stays in the send queue until the region or the window is closed. */
private fun refuseBinding(close: (MemoryRegion, MemoryWindow) -> Unit) =
    Pair(EmbeddedFabric.virtual(1)).use { (a, _) ->
        val pd = a.qp.protectionDomain()
        val region = pd.memoryRegion(64, LOCAL_WRITE, MW_BIND)
        val window = pd.memoryWindow(MemoryWindowType.TYPE_2)
        a.qp.modify(QueuePairAttributes.builder().state(QueuePairState.SQD).build())
        a.post { bind(1, window, MemoryWindow.nextRkey(window.rkey()), region.slice(), REMOTE_WRITE.bit()).signaled() }
        close(region, window)
        a.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RTS).build())
        a.take(1).single().status() shouldBe MW_BIND_ERR
        window.close()
        region.close()
    }
