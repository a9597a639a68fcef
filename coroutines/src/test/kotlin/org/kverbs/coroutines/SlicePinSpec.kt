package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.get
import org.kverbs.dsl.read
import org.kverbs.dsl.send

class SlicePinSpec :
    FunSpec({
        timeout = 60_000

        /** An operation on a slice of a pooled buffer, with the peer's memory at hand. */
        class Operation(
            val name: String,
            val run: suspend AsyncQueuePair<RcVerbs>.(TwoEnds, RegisteredBuffer) -> Unit,
        )

        fun operation(
            name: String,
            run: suspend AsyncQueuePair<RcVerbs>.(TwoEnds, RegisteredBuffer) -> Unit,
        ) = Operation(name, run)

        for (operation in listOf(
            operation("send") { _, buffer -> send(buffer.slice(8, 8)) },
            operation("sendWithImmediate") { _, buffer -> sendWithImmediate(buffer.slice(0, 8), 7) },
            operation("write") { ends, buffer -> write(buffer.slice(8, 8), to = ends.server.region.remote()) },
            operation("read") { ends, buffer -> read(ends.server.region.remote(), into = buffer.slice(0, 8)) },
            operation("postReceive") { _, buffer -> postReceive(buffer.slice(16)).await() },
            operation("batch") { ends, buffer ->
                batch {
                    send(ends.client.region[0, 8]).and(buffer.slice(0, 8))
                    read(ends.server.region.remote(), into = buffer.slice(8, 8))
                }
            },
        )) {
            test(
                "should keep a closed pooled buffer from others while a cancelled ${operation.name} uses a slice of it",
            ) {
                TwoEnds({ maxSendSge(2) }, { callerPolls() }).use { ends ->
                    ends.client.pd
                        .bufferPool { access(LOCAL_WRITE, REMOTE_READ) }
                        .use { pool ->
                            repeat(2) { ends.server.qp.postReceive(ends.server.region[0, 64]) }
                            val buffer = pool.take(64)
                            coroutineScope {
                                val call =
                                    launch(
                                        start = CoroutineStart.UNDISPATCHED,
                                    ) { operation.run(ends.client.qp, ends, buffer) }
                                call.cancelAndJoin()
                            }
                            buffer.close()
                            withClue("buffers that are lent") { pool.taken shouldBe 1 }
                            ends.server.qp.close()
                            ends.client.qp.close()
                            pool.taken shouldBe 0
                        }
                }
            }
        }

        test("should give a buffer back once, when all requests of a batch that use parts of it have completed") {
            TwoEnds().use { ends ->
                ends.client.pd.bufferPool().use { pool ->
                    val buffers = List(3) { pool.take(64) }
                    ends.client.qp.batch {
                        repeat(12) { read(ends.server.region.remote(), into = buffers[it % 3].slice(it * 4L, 4)) }
                    }
                    pool.taken shouldBe 3
                    buffers.forEach { it.close() }
                    pool.taken shouldBe 0
                }
            }
        }

        test("should refuse a slice of a closed buffer whose memory has another owner") {
            TwoEnds().use { ends ->
                ends.client.pd.bufferPool { maxBytes(1.MiB) }.use { pool ->
                    val slice = pool.take(1.MiB).use { it.slice(0, 8) }
                    pool.take(1.MiB).use {
                        val remote = ends.server.region.remote()
                        shouldThrow<IllegalStateException> {
                            ends.client.qp.read(
                                remote,
                                into = slice,
                            )
                        }.message shouldContain
                            "is closed"
                        shouldThrow<IllegalStateException> {
                            ends.client.qp.batch { read(remote, into = slice) }
                        }.message shouldContain "is closed"
                        ends.client.qp.read(remote, into = it.slice(0, 8))
                    }
                }
            }
        }
    })
