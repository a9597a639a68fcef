package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.objects.Cq
import org.kverbs.embedded.internal.transport.InsideDirectPath
import java.time.Duration

private const val SHORT = 64L

/** Lets each completion that the device adds to a queue throw an exception while the action runs. */
private fun withoutMemory(
    cq: Cq,
    action: () -> Unit,
) {
    val ring = Cq::class.java.getDeclaredField("ring").apply { isAccessible = true }.get(cq)
    val field = ring.javaClass.getDeclaredField("occupied").apply { isAccessible = true }
    val whole = field.get(ring)
    field.set(ring, java.lang.reflect.Array.newInstance(whole.javaClass.componentType, 0))
    try {
        action()
    } finally {
        field.set(ring, whole)
    }
}

private fun Pair.inside(end: End) = InsideDirectPath(fabric.hca(if (end === a) client else server), end.qp.number())

private fun Pair.write() = a.post { write(1, b.mr.remote()).from(a.mr.slice(0, SHORT)).signaled() }

private fun Pair.send() {
    b.qp.postReceive(2, b.mr.slice(0, SHORT))
    a.post { send(3).from(a.mr.slice(0, SHORT)).signaled() }
}

private fun End.shouldBeBroken() {
    qp.state() shouldBe QueuePairState.ERR
    val event = context.awaitAsyncEvent(Duration.ofSeconds(20)).shouldNotBeNull()
    withClue(event) { (event.type() to event.source()) shouldBe (AsyncEventType.QP_FATAL to qp) }
}

/** Checks exceptions in the middle of a direct message, which no correct program causes. */
class DirectFailureSpec :
    FunSpec({
        for (atPeer in listOf(true, false)) {
            val where = if (atPeer) "the peer's completion" else "the sender's completion"
            test("should end both queue pairs and no other if $where of a direct message throws") {
                Pair(EmbeddedFabric.realTime(1)).use { pair ->
                    val other = listOf(pair.client, pair.server).map { End(it, QueuePairType.RC, SHORT) }
                    other[0].qp.connect(other[1].qp.endpoint())
                    other[1].qp.connect(other[0].qp.endpoint())
                    val broken = pair.inside(if (atPeer) pair.b else pair.a).cq
                    shouldThrow<ArrayIndexOutOfBoundsException> { withoutMemory(broken) { pair.send() } }
                    pair.direct() shouldBe 1 // the receive
                    pair.a.shouldBeBroken()
                    pair.b.shouldBeBroken()
                    other[0].post { write(1, other[1].mr.remote()).from(other[0].mr.slice()).signaled() }
                    other[0].take(1).single().orThrow()
                    pair.direct() shouldBe 2
                    other.forEach(End::close)
                }
            }
        }

        test("should carry out messages directly again after an exception and a reset of both queue pairs") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                shouldThrow<ArrayIndexOutOfBoundsException> { withoutMemory(pair.inside(pair.a).cq) { pair.write() } }
                for (end in listOf(pair.a, pair.b)) {
                    end.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
                }
                pair.a.qp.connect(pair.b.qp.endpoint())
                pair.b.qp.connect(pair.a.qp.endpoint())
                pair.write()
                pair.direct() shouldBe 1
                pair.a.take(1).single().orThrow()
            }
        }

        test("should undo by its next message what an exception on a short stack left, though it could not at once") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                pair.write()
                pair.inside(pair.a).leaveBroken(halfDone = false)
                pair.inside(pair.b).reserve()
                pair.write()
                pair.direct() shouldBe 1
                pair.send()
                pair.direct() shouldBe 3
                pair.a.take(3).forEach { it.orThrow() }
            }
        }

        test("should end both queue pairs by its next message if a message is half done") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                pair.write()
                pair.inside(pair.a).leaveBroken(halfDone = true)
                pair.write()
                pair.a.shouldBeBroken()
                pair.b.shouldBeBroken()
            }
        }

        test("should leave a peer alone that has another connection when a half done message is found") {
            Pair(EmbeddedFabric.realTime(1)).use { pair ->
                pair.write()
                pair.inside(pair.a).leaveBroken(halfDone = true)
                pair.b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
                End(pair.client, QueuePairType.RC, SHORT).use { next ->
                    pair.b.qp.connect(next.qp.endpoint())
                    next.qp.connect(pair.b.qp.endpoint())
                    pair.write()
                    pair.a.shouldBeBroken()
                    next.post { write(1, pair.b.mr.remote()).from(next.mr.slice()).signaled() }
                    next.take(1).single().orThrow()
                    pair.b.qp.state() shouldBe QueuePairState.RTS
                }
            }
        }
    })
