package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withTimeout
import kotlin.time.Duration.Companion.seconds

/** Tests the large messages that wait for the peer, where the memory of one can't be given back. */
class LargeSendsSpec :
    FunSpec({
        timeout = 20_000

        suspend fun CoroutineScope.sending(
            sends: LargeSends,
            buffer: RegisteredBuffer,
        ): Deferred<Unit> {
            sends.room.acquire(1)
            return async(start = CoroutineStart.UNDISPATCHED) { suspendCancellableCoroutine { sends.add(buffer, it) } }
        }

        test("should resume the sender of a message that the peer has read although its buffer can't be unpinned") {
            supervisorScope {
                val sends = LargeSends(1)
                val sender = sending(sends, Pinned(isBroken = true))
                shouldThrow<OutOfMemoryError> { sends.done(0) }
                withTimeout(5.seconds) {
                    sender.await()
                    sends.awaitAll()
                }
            }
        }

        for (areRead in listOf(true, false)) {
            val what = if (areRead) "whose messages are read" else "whose messages are not read"
            test("should end the waits of all senders $what although the first buffer can't be unpinned") {
                supervisorScope {
                    val sends = LargeSends(3)
                    val buffers = listOf(true, false, true).map(::Pinned)
                    val senders = buffers.map { sending(sends, it) }
                    val end = ChannelClosedException("planted")
                    val thrown = shouldThrow<OutOfMemoryError> { sends.end(end, areRead) }
                    thrown.suppressed.single().message shouldBe "planted"
                    withTimeout(5.seconds) {
                        for (sender in senders) {
                            val failure = runCatching { sender.await() }.exceptionOrNull()
                            failure?.message shouldBe if (areRead) null else end.message
                        }
                    }
                    buffers.map { it.pins } shouldBe listOf(0, 0, 0)
                }
            }
        }
    })
