package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlin.random.Random

class ChannelDebtsSpec :
    FunSpec({
        test(
            "should never have more than two CREDIT messages under way, and never leave the peer without a credit",
        ) {
            for (seed in 1..500) {
                val random = Random(seed)
                val slots = random.nextInt(1, 10)
                withClue("seed $seed, $slots slots") {
                    val debts = ChannelDebts(slots)
                    var credits = slots
                    var arrived = 0
                    val way = ArrayDeque<Int>()

                    fun say() {
                        while (debts.isDue) way.addLast(debts.take().shouldNotBeNull().credits)
                    }
                    repeat(500) {
                        when (random.nextInt(4)) {
                            0, 1 -> {
                                if (credits > 0) {
                                    credits--
                                    arrived++
                                    debts.arrived()
                                }
                            }

                            2 -> {
                                if (arrived > 0) {
                                    arrived--
                                    debts.oweCredit()
                                    say()
                                }
                            }

                            else -> {
                                credits += way.removeFirstOrNull() ?: 0
                            }
                        }
                        way.size shouldBeLessThanOrEqual 2
                    }
                    // The reader takes all messages, and the peer gets everything that was sent.
                    repeat(arrived) {
                        debts.oweCredit()
                        say()
                    }
                    credits + way.sum() shouldBeGreaterThan 0
                    credits + way.sum() + debts.takeCredits() shouldBe slots
                }
            }
        }

        test("should give all credits along with the next message") {
            val debts = ChannelDebts(8)
            repeat(4) {
                debts.arrived()
                debts.oweCredit()
            }
            debts.oweDone(7)
            debts.take().shouldNotBeNull().run { listOf(kind, credits, id) } shouldBe listOf(ChannelMessage.DONE, 4, 7)
            debts.take().shouldBeNull()
            debts.isDue shouldBe false
        }

        test("should fail for a peer that sends more than its credits allow") {
            val debts = ChannelDebts(2)
            repeat(2) { debts.arrived() }
            shouldThrow<ChannelProtocolException> { debts.arrived() }.message shouldContain "more messages than the 2"
        }

        test("should send the close before everything else") {
            val debts = ChannelDebts(2)
            debts.oweDone(1)
            debts.oweAnswer()
            debts.oweClose(ChannelMessage.LEAVE)
            debts.take().shouldNotBeNull().kind shouldBe ChannelMessage.LEAVE
            debts.take().shouldNotBeNull().kind shouldBe ChannelMessage.ANSWER
            debts.take().shouldNotBeNull().kind shouldBe ChannelMessage.DONE
            debts.take().shouldBeNull()
        }
    })
