package org.kverbs.embedded.internal.engine

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import java.lang.ref.WeakReference
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit

private class Failing(
    private val what: Throwable,
) : Event() {
    var told = 0

    override fun happen() = throw what

    override fun failed() {
        told++
    }
}

private class Counting(
    private val count: () -> Unit,
) : Event() {
    override fun happen() = count()
}

private class FailingTask(
    private val what: Throwable,
) : Task() {
    var told = 0

    override fun run() = throw what

    override fun failed() {
        told++
    }
}

private inline fun Engine.locked(action: () -> Unit) {
    enter()
    try {
        action()
    } finally {
        leave()
    }
}

class EngineSpec :
    FunSpec({
        val failures =
            listOf(
                IllegalStateException("a bug"),
                OutOfMemoryError("none left"),
                StackOverflowError(),
                InternalError("a fault"),
            )

        test(
            "should go on with the next event and the next task after one threw anything, and tell its owner and the " +
                "handler",
        ) {
            val engine = Engine(true)
            val reported = mutableListOf<Throwable>()
            var happened = 0
            val events = failures.map(::Failing)
            val tasks = failures.map(::FailingTask)
            engine.locked {
                engine.onFailure { reported += it }
                events.forEach { engine.schedule(it, 1) }
                engine.schedule(Counting { happened++ }, 1)
                tasks.forEach(engine::ready)
            }
            reported shouldContainExactly failures
            tasks.map { it.told } shouldContainExactly failures.map { 1 }
            engine.locked { engine.advance(1) }
            happened shouldBe 1
            events.map { it.told } shouldContainExactly failures.map { 1 }
            reported shouldContainExactly failures + failures
        }

        test(
            "should run all ready tasks in a call on the real clock, even if tasks and the handler throw",
        ) {
            Engine(false).use { engine ->
                val tasks = failures.map(::FailingTask)
                engine.locked {
                    engine.onFailure { throw it }
                    tasks.forEach(engine::ready)
                }
                tasks.map { it.told } shouldContainExactly failures.map { 1 }
            }
        }

        test("should throw the handler's exception from the call on the virtual clock") {
            val engine = Engine(true)
            shouldThrow<IllegalStateException> {
                engine.locked {
                    engine.onFailure { throw it }
                    engine.ready(FailingTask(failures[0]))
                }
            } shouldBeSameInstanceAs failures[0]
        }

        test("should keep its timer thread, whatever events and the handler throw") {
            Engine(false).use { engine ->
                val end = CountDownLatch(1)
                engine.locked {
                    engine.onFailure { throw it }
                    failures.forEach { engine.schedule(Failing(it), 0) }
                    engine.schedule(Counting { end.countDown() }, 1_000_000)
                }
                end.await(20, TimeUnit.SECONDS) shouldBe true
            }
        }

        test("should keep what a call needs until the call is over, and no longer") {
            val engine = Engine(true)
            lateinit var kept: WeakReference<Any>
            engine.locked {
                kept = engine.keepOne()
                engine.enter() // a call within the call
                engine.leave()
                repeat(3) { System.gc() }
                kept.get().shouldNotBeNull()
            }
            val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20)
            while (kept.get() != null && System.nanoTime() < end) System.gc()
            kept.get().shouldBeNull()
        }
    })

/** Lets the engine keep an object that nothing else refers to. */
private fun Engine.keepOne(): WeakReference<Any> {
    val owner = Any()
    keep(owner)
    return WeakReference(owner)
}
