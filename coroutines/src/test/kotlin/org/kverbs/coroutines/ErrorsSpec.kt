package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.withTimeout
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.get
import kotlin.time.Duration.Companion.seconds

/** Tests that a call that throws an Error, as for want of memory, keeps nothing that others wait for. */
class ErrorsSpec :
    FunSpec({
        timeout = 60_000

        test("should not give the turn to a receiver of messages that threw an error as it began to wait") {
            val inbox =
                ChannelInbox(isAhead = false, { if (it.id == 2) throw OutOfMemoryError("planted") }) { _, _ -> }
            val messages = List(2) { offered(it + 1) }
            coroutineScope {
                val first = async(start = UNDISPATCHED) { inbox.take() }
                messages.forEach(inbox::add)
                shouldThrow<OutOfMemoryError> { inbox.take() }
                val next = async(start = UNDISPATCHED) { inbox.take() }
                for (message in messages) {
                    inbox.claim(message)
                    inbox.complete(message, ByteArray(message.id))
                }
                withTimeout(10.seconds) { first.await()?.bytes?.size shouldBe 1 }
                withTimeout(10.seconds) { next.await()?.bytes?.size shouldBe 2 }
            }
        }

        test("should bind the next window after an error before a window was bound") {
            TwoEnds().use { ends ->
                val end = ends.client
                val memory = end.pd.memoryRegion(64, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND)[0, 64]
                val windows = ChannelWindows(end.dispatcher, end.qp.queuePair, end.dispatcher.reserve(1), 1, Failures())
                var unused = 0

                suspend fun bind(begun: (ChannelWindows.Bound) -> Unit) =
                    windows.bind(memory, AccessFlag.mask(setOf(AccessFlag.REMOTE_READ)), begun, {}) { unused++ }
                shouldThrow<OutOfMemoryError> { bind { throw OutOfMemoryError("planted") } }
                unused shouldBe 1
                withTimeout(10.seconds) { bind {} }.window.isOpen shouldBe true
            }
        }
    })
