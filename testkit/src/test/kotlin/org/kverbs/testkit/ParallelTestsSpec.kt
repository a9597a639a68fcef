package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import org.kverbs.Context
import org.kverbs.dsl.openDevice
import java.util.concurrent.CountDownLatch
import java.util.concurrent.CyclicBarrier
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.minutes

/** Checks two tests at once in one JVM: the wrong one fails, and no other. */
class ParallelTestsSpec :
    FunSpec({
        val opened = mutableListOf<Context>()

        fun leak() = synchronized(opened) { opened += openDevice("embedded0") }

        afterTest { opened.onEach { it.close() }.clear() }

        /** Runs both at the same time, and returns the exception of each. */
        fun both(
            first: () -> Unit,
            second: () -> Unit,
        ): List<Throwable?> {
            val failures = arrayOfNulls<Throwable>(2)
            listOf(first, second)
                .mapIndexed { i, test -> thread { failures[i] = runCatching(test).exceptionOrNull() } }
                .forEach { it.join() }
            return failures.asList()
        }

        test("should fail the one of two tests that leaks") {
            val barrier = CyclicBarrier(2)
            val (leaking, tidy) =
                both(
                    { connectedPair { _, _ -> leak().also { barrier.await() } } },
                    {
                        connectedPair { client, server ->
                            barrier.await()
                            server.postReceive(64)
                            client.send(ByteArray(8))
                            server.awaitReceive().shouldHaveBytes(ByteArray(8))
                        }
                    },
                )
            leaking.shouldNotBeNull().message shouldContain "ParallelTestsSpec"
            tidy.shouldBeNull()
        }

        test("should fail the test whose own thread leaks, or whose pair leaks by a foreign thread") {
            val barrier = CyclicBarrier(2)
            val (leaking, tidy) =
                both(
                    {
                        leakCheck {
                            thread { leak() }.join()
                            barrier.await()
                            barrier.await()
                        }
                    },
                    {
                        leakCheck {
                            barrier.await()
                            openDevice("embedded1").use { it.protectionDomain() }
                            barrier.await()
                        }
                    },
                )
            leaking.shouldNotBeNull().message shouldContain "1 resource is still open"
            tidy.shouldBeNull()
        }

        test("should fail the one of two coroutines on the same threads that leaks") {
            val turn = Mutex(locked = true)
            coroutineScope {
                val context = Dispatchers.Default.limitedParallelism(1)
                val leaking =
                    async(context) {
                        runCatching {
                            leakCheckSuspending {
                                yield()
                                leak()
                                turn.unlock()
                                withContext(Dispatchers.IO) { leak() }
                                delay(1)
                            }
                        }.exceptionOrNull()
                    }
                val tidy =
                    async(context) {
                        runCatching {
                            leakCheckSuspending {
                                turn.lock()
                                openDevice("embedded1").close()
                            }
                        }.exceptionOrNull()
                    }
                leaking.await().shouldNotBeNull().message shouldContain "2 resources are still open"
                tidy.await().shouldBeNull()
            }
        }

        test("should fail the one of two blocks of coroutines that leaks on a shared dispatcher") {
            val barrier = CyclicBarrier(2)
            val (leaking, tidy) =
                both(
                    { connectedCoroutines { _, _ -> withContext(Dispatchers.IO) { leak().also { barrier.await() } } } },
                    { connectedCoroutines { _, _ -> withContext(Dispatchers.IO) { barrier.await() } } },
                )
            leaking.shouldNotBeNull().message shouldContain "1 resource is still open"
            tidy.shouldBeNull()
        }

        test("should count a resource of an unknown thread for a test that runs alone") {
            val go = CountDownLatch(1)
            val stranger =
                thread {
                    go.await()
                    leak()
                }
            shouldThrow<AssertionError> {
                leakCheck {
                    go.countDown()
                    stranger.join()
                }
            }.message shouldContain "1 resource is still open"
        }

        test("should find a wait in vain even if another test starts threads") {
            val barrier = CyclicBarrier(2)
            val (vain, busy) =
                both(
                    {
                        connectedPair { client, _ ->
                            barrier.await()
                            client.awaitSend(10.minutes)
                        }
                    },
                    {
                        connectedPair { _, _ ->
                            barrier.await()
                            thread { }.join()
                        }
                    },
                )
            vain.shouldNotBeNull().message shouldContain "waits in vain"
            busy.shouldBeNull()
        }
    })
