package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart.LAZY
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeout
import org.kverbs.dsl.get
import kotlin.time.Duration.Companion.seconds

/** A receive side of [capacity] entries. Before a receive is posted, [onPost] gets its number and can refuse it. */
private class Refusing(
    val ends: TwoEnds,
    capacity: Int,
    onPost: (Int) -> Unit,
) {
    private var posts = 0
    val side: ReceiveSide =
        ends.server.dispatcher.let { dispatcher ->
            ReceiveSide(dispatcher, dispatcher.reserve(capacity), capacity, Failures(), ends.server.pd) { id, memory ->
                onPost(posts++)
                ends.server.qp.queuePair.postReceive(id, memory)
            }
        }

    fun receive(
        scope: CoroutineScope,
        at: Int,
    ): Deferred<Received> = scope.async(start = UNDISPATCHED) { side.await(ends.server.region[at * 64L, 64], null) }

    suspend fun lengthOf(received: Deferred<Received>): Long = withTimeout(PATIENCE.seconds) { received.await().length }

    suspend fun failureOf(received: Deferred<Received>): String? =
        shouldThrow<Refused> { withTimeout(PATIENCE.seconds) { received.await() } }.message
}

private class Refused : RuntimeException("refused")

private const val PATIENCE = 5

class RefusedReceiveSpec :
    FunSpec({
        timeout = 60_000

        suspend fun refusing(
            capacity: Int = 1,
            onPost: (Int) -> Unit,
            block: suspend Refusing.(CoroutineScope) -> Unit,
        ) {
            TwoEnds().use { ends ->
                val refusing = Refusing(ends, capacity, onPost)
                supervisorScope {
                    try {
                        refusing.block(this)
                    } finally {
                        coroutineContext.cancelChildren()
                    }
                }
                refusing.side.end(IllegalStateException("closed"))
            }
        }

        test("should post for the next receiver if the device refuses the one that waited for a free entry") {
            refusing(onPost = { if (it == 1) throw Refused() }) { scope ->
                val (first, second, third) = List(3) { receive(scope, it) }
                ends.client.qp.send(ends.client.text("a"))
                lengthOf(first) shouldBe 1
                failureOf(second) shouldBe "refused"
                ends.client.qp.send(ends.client.text("ccc"))
                lengthOf(third) shouldBe 3
            }
        }

        test("should end all receivers after an error of a post, as the device has the receive, perhaps") {
            refusing(capacity = 2, onPost = { if (it == 1) throw StackOverflowError("planted") }) { scope ->
                val first = receive(scope, 0)
                shouldThrow<StackOverflowError> { receive(scope, 1).await() }
                shouldThrow<StackOverflowError> { lengthOf(first) }
                shouldThrow<StackOverflowError> { lengthOf(receive(scope, 2)) }
            }
        }

        test("should end all receivers after an error of the post for one that waited for a free entry") {
            refusing(onPost = { if (it == 1) throw StackOverflowError("planted") }) { scope ->
                val (first, second, third) = List(3) { receive(scope, it) }
                ends.client.qp.send(ends.client.text("a"))
                lengthOf(first) shouldBe 1
                shouldThrow<StackOverflowError> { lengthOf(second) }
                shouldThrow<StackOverflowError> { lengthOf(third) }
            }
        }

        test("should refuse the next receive after an error of postReceive, and end those that were posted") {
            refusing(capacity = 2, onPost = { if (it == 1) throw OutOfMemoryError("planted") }) {
                val posted = side.post(ends.server.region[0, 64], null)
                shouldThrow<OutOfMemoryError> { side.post(ends.server.region[0, 64], null) }
                shouldThrow<OutOfMemoryError> { side.post(ends.server.region[0, 64], null) }
                shouldThrow<OutOfMemoryError> { withTimeout(PATIENCE.seconds) { posted.await() } }
            }
        }

        test("should give the entry of a refused receive to a receiver that waits for it") {
            lateinit var waiting: () -> Deferred<Received>
            lateinit var second: Deferred<Received>
            refusing(onPost = {
                if (it == 0) {
                    second = waiting()
                    throw Refused()
                }
            }) { scope ->
                waiting = { receive(scope, 1) }
                failureOf(receive(scope, 0)) shouldBe "refused"
                ends.client.qp.send(ends.client.text("bb"))
                lengthOf(second) shouldBe 2
            }
        }

        test("should give the entry of a refused postReceive to a receiver that waits for it") {
            lateinit var waiting: () -> Deferred<Received>
            lateinit var second: Deferred<Received>
            refusing(onPost = {
                if (it == 0) {
                    second = waiting()
                    throw Refused()
                }
            }) { scope ->
                waiting = { receive(scope, 1) }
                shouldThrow<Refused> { side.post(ends.server.region[0, 64], null) }
                ends.client.qp.send(ends.client.text("bb"))
                lengthOf(second) shouldBe 2
            }
        }

        test("should tell the refusal to the receiver that has joined the receive of a cancelled one") {
            lateinit var first: Deferred<Received>
            lateinit var joining: () -> Deferred<Received>
            lateinit var second: Deferred<Received>
            refusing(capacity = 2, onPost = {
                if (it == 0) {
                    first.cancel()
                    second = joining()
                    throw Refused()
                }
            }) { scope ->
                joining = { receive(scope, 1) }
                first =
                    scope.async(start = LAZY) {
                        side.await(ends.server.region[0, 64], null)
                    }
                first.join()
                failureOf(second) shouldBe "refused"
                val third = receive(scope, 2)
                ends.client.qp.send(ends.client.text("ccc"))
                lengthOf(third) shouldBe 3
            }
        }
    })
