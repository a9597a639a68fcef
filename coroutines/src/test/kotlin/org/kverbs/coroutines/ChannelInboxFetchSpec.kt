package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain

/** Tests which offered messages an inbox has fetched, and when. */
class ChannelInboxFetchSpec :
    FunSpec({
        test("should fetch a message that was put back although its first fetch has found it with a receiver") {
            val begun = ArrayList<Int>()
            val inbox = ChannelInbox(isAhead = true, { begun.add(it.id) }) { _, _ -> }
            inbox.add(offered(1))
            val given = checkNotNull(inbox.take(reads = true))
            inbox.claim(given) shouldBe false
            inbox.putBack(given)
            begun shouldBe listOf(1, 1)
        }

        test("should fetch nothing ahead for receivers that read themselves, and one message for another receiver") {
            val begun = ArrayList<Int>()
            val inbox = ChannelInbox(isAhead = false, { begun.add(it.id) }) { _, _ -> }
            repeat(3) { inbox.add(offered(it)) }
            begun shouldBe emptyList()
            checkNotNull(inbox.take(reads = true)).id shouldBe 0
            begun shouldBe emptyList()
            inbox.tryTake() shouldBe null
            begun shouldBe listOf(1)
        }

        test("should not report an orderly end when a message is put back after this side has disconnected") {
            var gone = 0
            val inbox = ChannelInbox(isAhead = false, {}) { _, _ -> gone++ }
            inbox.add(offered())
            val given = checkNotNull(inbox.take(reads = true))
            inbox.drop(null)
            inbox.putBack(given)
            inbox.finish()
            inbox.take() shouldBe null
            inbox.cause?.message shouldContain "dropped messages"
            gone shouldBe 1
        }

        test("should report a failure while a receiver reads, although the peer has sent its last message before") {
            val inbox = ChannelInbox(isAhead = false, {}) { _, _ -> }
            inbox.add(offered())
            val given = checkNotNull(inbox.take(reads = true))
            inbox.finish()
            inbox.isAtEnd shouldBe false
            inbox.fail(ChannelClosedException("gone"))
            inbox.putBack(given)
            inbox.take(reads = true) shouldBe null
            inbox.cause?.message shouldBe "gone"
        }
    })
