package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.embedded.internal.engine.LongCopy
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout
import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread

/** So much that another thread does many posts while it is copied. */
private const val BYTES = 64L shl 20

private const val MARK: Byte = 1

/** The first round loads classes, which takes longer than the copy. */
private const val ROUNDS = 3

/** A copy that is far longer than a queue pair's. */
private class HugeCopy : LongCopy() {
    private val source: MemorySegment = Arena.ofAuto().allocate(BYTES)
    private val target: MemorySegment = Arena.ofAuto().allocate(BYTES)
    val begun = CountDownLatch(1)

    init {
        source.set(ValueLayout.JAVA_BYTE, BYTES - 1, MARK)
    }

    /** Tells whether the last byte is there. */
    fun isWhole(): Boolean = target.get(ValueLayout.JAVA_BYTE, BYTES - 1) == MARK

    override fun begin(): Boolean {
        from = source.address()
        to = target.address()
        bytes = BYTES
        begun.countDown()
        return true
    }

    override fun end(done: Boolean) = Unit

    override fun forget() = Unit
}

/** Checks that a queue pair that fails by itself, without a call that waits for copies, waits for them. */
class FailBesideCopySpec :
    FunSpec({
        timeout = 60_000

        /** Lets a thread copy, does something meanwhile, and tells whether the copy had ended when that was done. */
        fun EmbeddedFabric.beside(action: () -> Unit): Boolean {
            val copy = HugeCopy()
            val copier =
                thread {
                    engine().enter()
                    engine().copies().add(copy)
                    engine().leave()
                }
            copy.begun.await()
            action()
            return copy.isWhole().also { copier.join() }
        }

        test("should give back the buffers of a queue pair that fails only when the copies beside it have ended") {
            repeat(ROUNDS) {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    val (a, b) = pair
                    b.qp.postReceive(3, b.mr.slice())
                    val ended =
                        pair.fabric.beside {
                            // The peer refuses it, and fails first.
                            a.post { write(1, b.mr.address(), 0).from(a.mr.slice(0, 8)) }
                            b.await(1).single().status() shouldBe WR_FLUSH_ERR
                        }
                    withClue("when the peer's receive came back") { ended shouldBe true }
                    a.await(1).single().status() shouldBe REM_ACCESS_ERR
                }
            }
        }

        test("should give back the buffers of a queue pair whose request its device fails when the copies have ended") {
            repeat(ROUNDS) {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    val (a, b) = pair
                    a.qp.postReceive(3, a.mr.slice())
                    val ended =
                        pair.fabric.beside {
                            a.post { write(1, b.mr.remote()).entry(a.mr.address(), 8, 0) } // no such lkey
                            a.await(2).last().status() shouldBe WR_FLUSH_ERR
                        }
                    withClue("when the requester's receive came back") { ended shouldBe true }
                }
            }
        }
    })
