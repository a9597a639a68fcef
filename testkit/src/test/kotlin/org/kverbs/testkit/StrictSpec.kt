package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType.QP_FATAL
import org.kverbs.attributes.QueuePairState
import org.kverbs.coroutines.send
import org.kverbs.dsl.get
import org.kverbs.dsl.post
import org.kverbs.dsl.write
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.Errno.ENOMEM
import org.kverbs.embedded.Operation.CREATE_COMPLETION_QUEUE
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.Semantics.RXE
import org.kverbs.embedded.Semantics.STRICT
import java.lang.foreign.Arena

/** Checks mistakes that only a strict device finds, and injected failures. */
class StrictSpec :
    FunSpec({
        test("should refuse a program that never polls, and accept it with the semantics of rxe") {
            fun posted(semantics: Semantics): Int {
                var posted = 0
                connectedPair(semantics = semantics) { client, server ->
                    fun isPosted() =
                        runCatching { client.qp.post { write(client.memory[0, 8], server.memory.remote()) } }.isSuccess
                    posted = (1..1000).takeWhile { isPosted() }.size
                }
                return posted
            }
            connectedPair { client, _ -> posted(STRICT) shouldBe client.qp.capabilities().maxSendWr() }
            posted(RXE) shouldBe 1000
        }

        test("should refuse objects beyond the limits of a test's devices") {
            connectedPair(limits = DeviceLimits.DEFAULTS.completionQueues(2)) { client, _ ->
                val last = client.context.completionQueue(1)
                val refusal = shouldThrow<RdmaSystemException> { client.context.completionQueue(1) }
                refusal.errnoName() shouldBe "ENOMEM"
                refusal.message shouldContain "(max_cq)"
                last.close()
            }
        }

        test("should fail the second creation of a queue on the server") {
            connectedPair { client, server ->
                val injected = fabric.failNext(CREATE_COMPLETION_QUEUE, ENOMEM, nth = 2, on = server.context.device())
                client.context.completionQueue(1).close()
                server.context.completionQueue(1).close()
                shouldThrow<RdmaSystemException> { server.context.completionQueue(1) }.message shouldContain
                    "A test injected it"
                injected.happened() shouldBe 1
            }
        }

        test("should fail a write with the status that a test injects") {
            connectedPair { client, server ->
                fabric.failNext(RDMA_WRITE, REM_ACCESS_ERR)
                client.qp.post { write(client.memory[0, 8], server.memory.remote()).signaled() }
                client.awaitSend() shouldHaveFailedWith REM_ACCESS_ERR
            }
        }

        test("should fail a coroutine's send with the status that a test injects") {
            connectedCoroutines { client, _ ->
                fabric.failNext(SEND, RETRY_EXC_ERR)
                val failure = shouldThrow<WorkCompletionException> { client.send("ping".encodeToByteArray()) }
                failure.status() shouldBe RETRY_EXC_ERR
                failure.message shouldContain "(a test injected it)"
            }
        }

        test("should break a queue pair if a test raises its event") {
            connectedPair { client, _ ->
                fabric.raise(client.qp, QP_FATAL)
                client.qp.state() shouldBe QueuePairState.ERR
            }
        }

        test("should fail a test in which a peer writes memory that is freed") {
            val failure =
                shouldThrow<AssertionError> {
                    connectedPair { client, server ->
                        val region =
                            Arena.ofShared().use { arena ->
                                server.pd.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
                            }
                        client.qp.post { write(client.memory[0, 8], region.remote()).signaled() }
                        client.awaitSend() shouldHaveFailedWith REM_ACCESS_ERR
                        region.close()
                    }
                }
            failure.message shouldContain "memory was freed while it was registered, once"
            failure.message shouldContain "8 bytes of it were to be written by a peer"
        }
    })
