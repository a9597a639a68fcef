package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.asContextElement
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.MemorySlice
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.get

private const val ROUNDS = 200

/** Tests that a value of a thread is there for the coroutine that asked for it, for as long, and for no other one. */
class ThreadElementSpec :
    FunSpec({
        timeout = 60_000

        val waits: Map<String, suspend AsyncQueuePair<RcVerbs>.(MemorySlice) -> Unit> =
            mapOf(
                "a posted receive" to { postReceive(it).await() },
                "a receive" to { receive(it) },
            )

        for ((what, wait) in waits) {
            test(
                "should take an element for threads from the thread at the end of a withContext that waits for $what",
            ) {
                TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                    val scope = CoroutineScope(ends.server.dispatcher.coroutineDispatcher + Job())
                    val (sender, receiver) = List(2) { ends.server.dispatcher.qp(ends.server.pd, RC) }
                    sender.connect(receiver.endpoint())
                    receiver.connect(sender.endpoint())
                    val name = ThreadLocal<String?>()
                    val wrong = ArrayList<String>()

                    fun expect(expected: String?) {
                        if (name.get() != expected) wrong += "${name.get()} in place of $expected"
                    }
                    val receives =
                        scope.launch {
                            repeat(ROUNDS) {
                                withContext(name.asContextElement("named")) {
                                    receiver.wait(ends.server.region[64, 64])
                                    expect("named")
                                }
                                expect(null)
                            }
                        }
                    val sends =
                        scope.launch {
                            repeat(ROUNDS) {
                                yield() // the receiver waits first
                                sender.send(ends.server.region[0, 8])
                                expect(null)
                            }
                        }
                    while (receives.isActive || sends.isActive) {
                        ends.server.dispatcher.poll()
                        expect(null)
                    }
                    scope.cancel()
                    wrong.shouldBeEmpty()
                }
            }
        }
    })
