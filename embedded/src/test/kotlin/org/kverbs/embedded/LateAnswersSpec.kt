package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus
import org.kverbs.embedded.internal.wire.Opcode
import java.time.Duration

private const val ACK = 0x1f
private const val NAK_SEQUENCE = 0x60
private const val TIMEOUT = 10
private const val BYTES = 8

/** The interval of [TIMEOUT]. */
private val interval = Duration.ofNanos(4096L shl TIMEOUT)

private val again = Sent(Opcode.RC_WRITE_ONLY, 0, 0, BYTES)

/** Checks timeouts beside packets that have arrived and that no thread has taken yet (IBA volume 1, 9.7.6.1.3). */
class LateAnswersSpec :
    FunSpec({
        fun writing(body: PeerBench.() -> Unit) =
            PeerBench(timeout = TIMEOUT).use { bench ->
                bench.qp.postWith { it.write(1, bench.mr.remote()).from(bench.mr.slice(0, BYTES.toLong())).signaled() }
                bench.body()
            }

        test("should take the answer that has arrived when its timer expires, and send nothing again") {
            writing {
                catchUp = {
                    arrive(Opcode.RC_ACK, 0) { syndrome = ACK }
                    true
                }
                pass(interval).shouldBeEmpty()
                poll().single().status() shouldBe WorkCompletionStatus.SUCCESS
                pass(interval.multipliedBy(5)).shouldBeEmpty()
            }
        }

        test("should wait for up to four times the interval while packets have arrived that are not taken") {
            writing {
                catchUp = { false }
                pass(interval.multipliedBy(4).minusNanos(1)).shouldBeEmpty()
                pass(Duration.ofNanos(1)) shouldContainExactly listOf(again)
                // Each retry has as long.
                pass(interval.multipliedBy(4).minusNanos(1)).shouldBeEmpty()
                pass(Duration.ofNanos(1)) shouldContainExactly listOf(again)
            }
        }

        test("should look again soon while packets are not taken, and not wait for another interval") {
            writing {
                var looks = 0
                catchUp = { ++looks > 3 }
                pass(interval).shouldBeEmpty()
                pass(interval.dividedBy(4)) shouldContainExactly listOf(again)
            }
        }

        test("should not count a timeout when the packets that have arrived make it send again") {
            writing {
                catchUp = {
                    arrive(Opcode.RC_ACK, 0) { syndrome = NAK_SEQUENCE }
                    true
                }
                pass(interval) shouldContainExactly listOf(again)
                qp.counters()["local_ack_timeout_err"] shouldBe 0
            }
        }

        test("should send again after one interval when no packet has arrived") {
            writing {
                pass(interval.minusNanos(1)).shouldBeEmpty()
                pass(Duration.ofNanos(1)) shouldContainExactly listOf(again)
            }
        }

        test("should give up in the end though packets come all the time") {
            writing {
                catchUp = { false }
                pass(interval.multipliedBy(4 * 4))
                poll().single().status() shouldBe WorkCompletionStatus.RETRY_EXC_ERR
            }
        }
    })
