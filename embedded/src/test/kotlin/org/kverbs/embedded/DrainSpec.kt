package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AsyncEventType.SQ_DRAINED
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairState.SQD
import org.kverbs.attributes.QueuePairType
import java.time.Duration

private const val TIMEOUT = 14
private val WAY: Duration = Duration.ofMillis(1)

/** A few round trips. The timeout of [TIMEOUT] is 67 of them. */
private const val PROMPTLY_MILLIS = 10L

/** Checks that a drained send queue comes to rest by the peer's answers, not by a timer. */
class DrainSpec :
    FunSpec({
        fun End.drain(notify: Boolean = true) =
            qp.modify(
                QueuePairAttributes
                    .builder()
                    .state(SQD)
                    .apply { if (notify) sqDrainedNotify(true) }
                    .build(),
            )

        fun End.resume() = qp.modify(QueuePairAttributes.builder().state(RTS).build())

        fun End.event() = context.awaitAsyncEvent(Duration.ZERO)?.type()

        fun slow(timeout: Int): Pair {
            val options = ConnectOptions.builder().timeout(timeout).maxReadAtomic(1).build()
            val pair = Pair(EmbeddedFabric.virtual(1), options = options)
            pair.fabric.setFaults(Faults.NONE.delay(WAY))
            return pair
        }

        for (timeout in listOf(0, TIMEOUT)) {
            test("should drain a read and a write while another read waits for the first, with timeout $timeout") {
                slow(timeout).use { pair ->
                    val a = pair.a
                    val remote = pair.b.mr.remote()
                    a.post {
                        read(1, remote).into(a.mr.slice(0, 8)).signaled()
                        write(2, remote).from(a.mr.slice(8, 8)).signaled()
                        read(3, remote).into(a.mr.slice(16, 8)).signaled()
                    }
                    a.drain()
                    a.event().shouldBeNull()
                    a.take(2).map { it.workRequestId() to it.status() } shouldBe listOf(1L to SUCCESS, 2L to SUCCESS)
                    a.event() shouldBe SQ_DRAINED
                    pair.fabric.clock().elapsed().toMillis() shouldBeLessThan PROMPTLY_MILLIS
                    a.resume()
                    a.take(1).single().workRequestId() shouldBe 3
                }
            }

            test("should drain a write before a fenced send that waits for a read, with timeout $timeout") {
                slow(timeout).use { pair ->
                    val a = pair.a
                    a.post {
                        read(1, pair.b.mr.remote()).into(a.mr.slice(0, 8)).signaled()
                        write(2, pair.b.mr.remote()).from(a.mr.slice(8, 8)).signaled()
                        send(3).from(a.mr.slice(8, 8)).fence().signaled()
                    }
                    a.drain()
                    a.take(2).map { it.workRequestId() } shouldBe listOf(1L, 2L)
                    a.event() shouldBe SQ_DRAINED
                    pair.fabric.clock().elapsed().toMillis() shouldBeLessThan PROMPTLY_MILLIS
                }
            }

            test("should drain a send whose peer has no receive yet, with timeout $timeout") {
                slow(timeout).use { pair ->
                    val (a, b) = pair
                    a.post {
                        send(1).from(a.mr.slice(0, 8)).signaled()
                        send(2).from(a.mr.slice(0, 8)).signaled()
                    }
                    pair.fabric.clock().advance(WAY.multipliedBy(2))
                    a.drain()
                    repeat(2) { b.qp.postReceive(it.toLong(), b.mr.slice(0, 8)) }
                    a.take(2).map { it.status() } shouldBe listOf(SUCCESS, SUCCESS)
                    a.event() shouldBe SQ_DRAINED
                }
            }
        }

        test("should send no datagram while its queue is drained, and report the queue as drained") {
            Pair(EmbeddedFabric.virtual(1), QueuePairType.UC).use { (a, b) ->
                repeat(2) { b.qp.postReceive(it.toLong(), b.mr.slice(0, 8)) }
                a.drain()
                a.event() shouldBe SQ_DRAINED
                a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
                a.take(0).shouldBeEmpty()
                a.resume()
                a.take(1).single().status() shouldBe SUCCESS
            }
            PeerBench(QueuePairType.UD).use { bench ->
                bench.qp.modify(QueuePairAttributes.builder().state(SQD).sqDrainedNotify(true).build())
                bench.context.awaitAsyncEvent(Duration.ZERO)?.type() shouldBe SQ_DRAINED
                bench.during { bench.datagram() }.shouldBeEmpty()
                bench.during { bench.qp.modify(QueuePairAttributes.builder().state(RTS).build()) }.size shouldBe 1
            }
        }

        test("should report once that a queue is drained, and only if the current change to SQD asked for it") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, _) ->
                a.drain()
                a.event() shouldBe SQ_DRAINED
                a.resume()
                a.drain(notify = false)
                a.event().shouldBeNull()
            }
        }
    })

private fun PeerBench.datagram() = qp.postWith { it.send(1).from(mr.slice(0, 8)).to(toPeer, 2, 5) }
