package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.test.currentTime
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.withContext
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes

/** Checks what a user of runTest expects of the coroutines of a test. */
@OptIn(ExperimentalCoroutinesApi::class)
class BackgroundSpec :
    FunSpec({
        test("should cancel the background at the end of the block, and not wait for it before") {
            val seen = mutableListOf<String>()
            connectedCoroutines { client, server ->
                backgroundScope.launch {
                    try {
                        while (true) server.send(server.receive(64).reversedArray())
                    } finally {
                        seen += "background"
                    }
                }
                launch {
                    client.send("ping".encodeToByteArray())
                    client.receive(64).decodeToString() shouldBe "gnip"
                    seen += "block"
                }
            }
            seen shouldContainExactly listOf("block", "background")
        }

        test("should fail at once with the exception of a background coroutine") {
            shouldThrow<IllegalStateException> {
                connectedCoroutines(timeout = 10.minutes) { client, server ->
                    backgroundScope.launch {
                        server.receive(64)
                        error("the server's own")
                    }
                    client.send("ping".encodeToByteArray())
                    delay(1.hours)
                    client.receive(64)
                }
            }.message shouldBe "the server's own"
        }

        test("should fail with the exception of a background async that is not awaited") {
            shouldThrow<IllegalStateException> {
                connectedCoroutines { _, _ ->
                    backgroundScope.async { error("the server's own") }
                    delay(1.hours)
                }
            }.message shouldBe "the server's own"
        }

        test("should fail with the first uncaught exception, and suppress those after it") {
            val failure =
                shouldThrow<IllegalStateException> {
                    connectedCoroutines { _, _ ->
                        supervisorScope {
                            launch { error("first") }
                            launch { error("second") }
                        }
                    }
                }
            failure.message shouldBe "first"
            failure.suppressed.filterIsInstance<IllegalStateException>().map { it.message } shouldContainExactly
                listOf("second")
        }

        test("should fail with an uncaught exception of a coroutine in another scope") {
            shouldThrow<IllegalStateException> {
                connectedCoroutines { _, _ ->
                    CoroutineScope(Dispatchers.Default).launch { error("the service's own") }.join()
                }
            }.message shouldBe "the service's own"
            shouldThrow<IllegalStateException> {
                connectedCoroutines(timeout = 10.minutes) { _, _ ->
                    connectedCoroutines { _, _ -> delay(1) }
                    CoroutineScope(SupervisorJob()).launch { error("the service's own") }
                    awaitCancellation()
                }
            }.message shouldBe "the service's own"
        }

        test("should fail with a coroutine's exception even if another coroutine of the block can't be cancelled") {
            val failure =
                shouldThrow<IllegalStateException> {
                    connectedCoroutines(timeout = 50.milliseconds) { _, _ ->
                        launch { error("the first") }
                        withContext(NonCancellable) { delay(Long.MAX_VALUE) }
                    }
                }
            failure.message shouldBe "the first"
            failure.suppressed.any { it.message.orEmpty().contains("has not ended within 50ms") } shouldBe true
        }

        test("should fail with an exception that the background throws when it is cancelled") {
            shouldThrow<IllegalStateException> {
                connectedCoroutines { client, server ->
                    backgroundScope.launch {
                        try {
                            awaitCancellation()
                        } finally {
                            error("in its finally")
                        }
                    }
                    launch { server.receive(8) }
                    client.send(ByteArray(8))
                }
            }.message shouldBe "in its finally"
        }

        test("should name a coroutine of the background that can't be cancelled") {
            shouldThrow<AssertionError> {
                connectedCoroutines(timeout = 500.milliseconds) { _, _ ->
                    backgroundScope.launch(
                        CoroutineName("stubborn"),
                    ) { withContext(NonCancellable) { delay(Long.MAX_VALUE) } }
                    delay(1)
                }
            }.message shouldContain
                "coroutines of backgroundScope have not ended within 500ms after their cancellation: stubborn"
        }

        test("should name coroutines of the block that belong into the background") {
            shouldThrow<AssertionError> {
                connectedCoroutines { _, server -> launch(CoroutineName("server")) { server.receive(8) } }
            }.message shouldContain
                "(server): cancel those that serve for ever at the end of the block, or launch them in backgroundScope"
        }

        test("should run beside runTest, and leave its time alone") {
            runTest {
                delay(5)
                connectedCoroutines { client, server ->
                    delay(1.hours)
                    launch { server.receive(8) }
                    client.send(ByteArray(8))
                }
                currentTime shouldBe 5
                withContext(Dispatchers.Default) { connectedCoroutines { _, _ -> delay(1.hours) } }
            }
        }

        test("should run within Kotest's coroutineTestScope").config(coroutineTestScope = true) {
            delay(1.hours)
            connectedCoroutines { client, server ->
                delay(1.hours)
                backgroundScope.launch { server.send(server.receive(64).reversedArray()) }
                client.send("ping".encodeToByteArray())
                client.receive(64).decodeToString() shouldBe "gnip"
            }
        }
    })
