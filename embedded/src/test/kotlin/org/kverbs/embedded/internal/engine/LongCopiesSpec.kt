package org.kverbs.embedded.internal.engine

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout
import java.util.concurrent.Callable
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger

private const val BYTES = 64L shl 20

/** What the bytes are to be. */
private const val FILL: Byte = 7

/** The number of attempts at a race whose outcome depends on the thread scheduler. */
private const val ROUNDS = 50

/** Copies [length] bytes, and tells what the engine calls. */
private class Told(
    private val wants: Boolean = true,
    private val source: Long,
    private val target: Long,
    private val length: Long = BYTES,
) : LongCopy() {
    val calls = mutableListOf<String>()
    val begun = CountDownLatch(1)

    override fun begin(): Boolean {
        from = source
        to = target
        bytes = length
        calls += "begin"
        begun.countDown()
        return wants
    }

    override fun end(done: Boolean) {
        calls += "end $done"
    }

    override fun forget() {
        calls += "forget"
    }
}

/** Counts that it happened. */
private class Following(
    private val happened: AtomicInteger,
) : Event() {
    override fun happen() {
        happened.incrementAndGet()
    }
}

private inline fun <T> Engine.locked(action: () -> T): T {
    enter()
    try {
        return action()
    } finally {
        leave()
    }
}

class LongCopiesSpec :
    FunSpec({
        val source = Arena.ofAuto().allocate(BYTES).fill(FILL)
        val target = Arena.ofAuto().allocate(BYTES)

        fun copy(wants: Boolean = true) = Told(wants, source.address(), target.address())

        test("should be possible on the real clock alone") {
            Engine(true).copies().arePossible() shouldBe false
            Engine(false).use { it.copies().arePossible() shouldBe (Runtime.getRuntime().availableProcessors() > 1) }
        }

        test("should make a copy before its thread has left, and none that is not wanted any more") {
            Engine(false).use { engine ->
                target.fill(0)
                val refused = copy(wants = false)
                engine.locked { engine.copies().add(refused) }
                refused.calls shouldContainExactly listOf("begin", "end false", "forget")
                target.mismatch(source) shouldBe 0
                val wanted = copy()
                engine.locked { engine.locked { engine.copies().add(wanted) } }
                wanted.calls shouldContainExactly listOf("begin", "end true", "forget")
                target.mismatch(source) shouldBe -1
            }
        }

        /** Lets another thread enter while a copy is made, and returns what the engine had called by then. */
        fun during(action: (Engine) -> Unit): List<String> =
            Engine(false).use { engine ->
                Executors.newSingleThreadExecutor().use { other ->
                    target.fill(0)
                    val made = copy()
                    val seen =
                        other.submit(
                            Callable {
                                made.begun.await()
                                engine.locked {
                                    action(engine)
                                    made.calls.toList()
                                }
                            },
                        )
                    engine.locked { engine.copies().add(made) }
                    seen.get(1, TimeUnit.MINUTES) + made.calls.last { it.startsWith("end") }
                }
            }

        test("should let others enter while a copy is made") {
            val seen = generateSequence { during {} }.take(ROUNDS).firstOrNull { it.size == 2 }
            seen shouldBe listOf("begin", "end true")
        }

        test("should wait for the bytes of copies that are being made") {
            val states =
                generateSequence {
                    var last: Byte = 0
                    val seen =
                        during {
                            it.copies().await()
                            // Not all bytes: a look at them from the first on would follow the copy to its end.
                            last = target.get(ValueLayout.JAVA_BYTE, BYTES - 1)
                        }
                    seen.size to last
                }.take(ROUNDS)
            val beside = states.onEach { withClue(it) { it.second shouldBe FILL } }.firstOrNull { it.first == 2 }
            beside shouldBe (2 to FILL)
        }

        test("should not count a copy that ended, or was waited for, before a verb that can make its bytes wrong") {
            val seen = generateSequence { during { it.copies().await() } }.take(ROUNDS).firstOrNull { it.size == 2 }
            seen shouldBe listOf("begin", "end false")
        }

        test("should go on after a copy that throws") {
            Engine(false).use { engine ->
                val wrong = Told(true, source.address(), target.address(), -1)
                engine.locked { engine.copies().add(wrong) }
                wrong.calls shouldContainExactly listOf("begin", "end false", "forget")
                val next = copy()
                engine.locked { engine.copies().add(next) }
                next.calls shouldContainExactly listOf("begin", "end true", "forget")
                engine.copies().made() shouldBe 1
            }
        }

        test("should let no event happen after a close beside a copy of the timer's thread") {
            val engine = Engine(false)
            val made = copy()
            val happened = AtomicInteger()
            val adding =
                object : Event() {
                    override fun happen() = engine.copies().add(made)
                }
            val following = List(8) { Following(happened) }
            var before = 0
            engine.locked {
                engine.schedule(adding, 0)
                following.forEach { engine.schedule(it, TimeUnit.MILLISECONDS.toNanos(1)) }
            }
            made.begun.await(1, TimeUnit.MINUTES) shouldBe true
            engine.locked {
                engine.close()
                before = happened.get()
            }
            val end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1)
            while ("forget" !in engine.locked { made.calls.toList() } && System.nanoTime() < end) Thread.onSpinWait()
            engine.locked { made.calls.toList() } shouldContainExactly listOf("begin", "end true", "forget")
            engine.locked { engine.scheduled() } shouldBe following.size - before
            happened.get() shouldBe before
        }
    })
