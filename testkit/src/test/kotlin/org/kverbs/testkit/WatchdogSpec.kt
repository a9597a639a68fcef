package org.kverbs.testkit

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldExist
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import java.util.concurrent.CountDownLatch
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS
import java.util.logging.Handler
import java.util.logging.LogRecord
import java.util.logging.Logger
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.seconds

private val SHORT = 2.seconds

private fun sleepForEver(): Unit = Thread.sleep(Long.MAX_VALUE)

/** Tests a block that keeps the thread, so that no timeout of coroutines can end it. */
class WatchdogSpec :
    FunSpec({
        timeout = 60_000

        fun shouldTell(
            place: String,
            block: suspend ConnectedCoroutines.() -> Unit,
        ) {
            val failure = shouldThrow<AssertionError> { connectedCoroutines(timeout = SHORT) { _, _ -> block() } }
            failure.message shouldContain "blocks the thread"
            failure.stackTrace.toList() shouldExist { it.methodName == place }
            Thread.currentThread().isInterrupted shouldBe false
        }

        test("should fail a block that sleeps for ever, and show the place") {
            shouldTell("sleepForEver") { sleepForEver() }
        }

        test("should fail a block with a coroutine that sleeps for ever, in the background and after a delay, too") {
            shouldTell("sleepForEver") {
                launch {
                    delay(1.hours)
                    sleepForEver()
                }
            }
            shouldTell("sleepForEver") {
                backgroundScope.launch { sleepForEver() }
                delay(1)
            }
        }

        test("should fail a block that blocks its thread for a coroutine of the same thread") {
            shouldTell("runBlocking") { runBlocking { delay(1.hours) } }
            shouldTell("await") { CountDownLatch(1).await() }
        }

        test("should fail a block that waits for ever as it is cancelled") {
            shouldTell("sleepForEver") {
                try {
                    delay(Long.MAX_VALUE)
                } finally {
                    sleepForEver()
                }
            }
        }

        test("should log the place of a block that no interrupt ends") {
            val lock = Any()
            val records = LinkedBlockingQueue<LogRecord>()
            val handler =
                object : Handler() {
                    override fun publish(record: LogRecord) = records.put(record)

                    override fun flush() = Unit

                    override fun close() = Unit
                }
            val logger = Logger.getLogger("org.kverbs.testkit")
            val isLocked = CountDownLatch(1)
            logger.addHandler(handler)
            try {
                val holder =
                    thread {
                        synchronized(lock) {
                            isLocked.countDown()
                            checkNotNull(records.poll(30, SECONDS)).thrown.message shouldContain "blocks the thread"
                        }
                    }
                isLocked.await()
                shouldTell("invokeSuspend") { synchronized(lock) { } }
                holder.join()
            } finally {
                logger.removeHandler(handler)
            }
        }

        test("should let a block go on that blocked for a while and has time left") {
            connectedCoroutines(timeout = 20.seconds) { client, server ->
                repeat(3) { Thread.sleep(100) }
                launch { client.send("ping".encodeToByteArray()) }
                server.receive(64).decodeToString() shouldBe "ping"
            }
        }
    })
