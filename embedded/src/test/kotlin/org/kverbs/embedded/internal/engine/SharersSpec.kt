package org.kverbs.embedded.internal.engine

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import java.util.concurrent.locks.ReentrantLock

private fun <T> onAnotherThread(action: () -> T): T {
    val result = CompletableFuture<T>()
    Thread { result.complete(action()) }.start()
    return result.get(20, TimeUnit.SECONDS)
}

/** Lets the wait for the sharers throw an exception, as the late error of a file that shrank does. */
private fun failing(
    engine: Engine,
    action: () -> Unit,
) {
    val sharers = engine.sharers()
    sharers.enter().shouldNotBeNull().leave() // some place has been used
    val field = Sharers::class.java.getDeclaredField("places").apply { isAccessible = true }

    @Suppress("UNCHECKED_CAST")
    val places = field.get(sharers) as Array<Place?>
    val before = places.copyOf()
    places.fill(null)
    try {
        action()
    } finally {
        before.copyInto(places)
    }
}

class SharersSpec :
    FunSpec({
        test("should mark a place with a number of its thread, so that no other thread takes the mark for its own") {
            val sharers = Sharers(ReentrantLock())
            val marks =
                List(2) {
                    onAnotherThread {
                        val place = sharers.enter().shouldNotBeNull()
                        place.mark.also { place.leave() }
                    }
                }
            marks[0] shouldNotBe marks[1]
        }

        test("should let nobody in while the lock is held, and leave no mark") {
            val lock = ReentrantLock()
            val sharers = Sharers(lock)
            lock.lock()
            sharers.enter().shouldBeNull()
            sharers.await()
            lock.unlock()
            sharers.enter().shouldNotBeNull().leave()
        }

        for ((what, enter) in listOf<Pair<String, (Engine) -> Unit>>(
            "enters" to { it.enter() },
            "enters within a time" to { it.tryEnter(TimeUnit.SECONDS.toNanos(20)) },
        )) {
            test("should leave the lock free if a thread that $what fails to wait for the sharers") {
                Engine(false).use { engine ->
                    failing(engine) { shouldThrow<NullPointerException> { enter(engine) } }
                    onAnotherThread {
                        val isFree = engine.tryEnter(TimeUnit.SECONDS.toNanos(10))
                        if (isFree) engine.leave()
                        isFree
                    } shouldBe true
                }
            }
        }
    })
