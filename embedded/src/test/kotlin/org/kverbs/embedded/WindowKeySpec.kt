package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryWindow
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Checks the keys of type 1 windows whose binds wait in a drained send queue (IBA volume 1, 10.3.1). */
class WindowKeySpec :
    FunSpec({
        /**
         * Posts three binds of a window, to a byte each, before the first can be carried out, and then lets them be
         * carried out.
         */
        fun bindThrice(
            block: Pair.(window: MemoryWindow, keys: List<Int>, address: Long, memory: () -> List<Byte>) -> Unit,
        ) = Pair(EmbeddedFabric.virtual(1)).use { pair ->
            val qp = pair.a.qp
            val pd = qp.protectionDomain()
            val region = pd.memoryRegion(3, LOCAL_WRITE, MW_BIND)
            val window = pd.memoryWindow(MemoryWindowType.TYPE_1)
            qp.modify(QueuePairAttributes.builder().state(QueuePairState.SQD).build())
            val keys =
                (0L..2).map {
                    window.bind(qp, it, region, it, 1, REMOTE_WRITE)
                    window.rkey()
                }
            qp.modify(QueuePairAttributes.builder().state(QueuePairState.RTS).build())
            pair.a.take(3).map { it.status() } shouldBe List(3) { SUCCESS }
            pair.block(window, keys, region.address()) { region.memory().toArray(JAVA_BYTE).toList() }
        }

        test("should give each bind that is posted the key after that of the one before, done or not") {
            bindThrice { window, keys, _, _ ->
                keys.zipWithNext().forEach { (one, next) -> next shouldBe MemoryWindow.nextRkey(one) }
                window.rkey() shouldBe keys.last()
            }
        }

        test("should admit the peer by the key of the last bind that was carried out") {
            bindThrice { _, keys, address, memory ->
                b.post { write(1, address + 2, keys[2]).inline(byteArrayOf(7)).signaled() }
                b.take(1).single().status() shouldBe SUCCESS
                memory() shouldBe listOf<Byte>(0, 0, 7)
            }
        }

        test("should admit no peer by the key of a bind that another one followed") {
            bindThrice { _, keys, address, memory ->
                b.post { write(1, address + 2, keys[1]).inline(byteArrayOf(7)).signaled() }
                b.take(1).single().status() shouldBe REM_ACCESS_ERR
                memory() shouldBe listOf<Byte>(0, 0, 0)
            }
        }
    })
