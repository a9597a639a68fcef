package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import org.kverbs.dsl.openDevice
import java.lang.ref.WeakReference
import kotlin.concurrent.thread
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

/** Tests the waits that the polling thread keeps for its coroutines. */
class PollingWaitsSpec :
    FunSpec({
        timeout = 60_000

        fun onPollingThread(block: (CompletionDispatcher) -> Unit) =
            openDevice("embedded0").use { device ->
                val dispatcher = device.completionDispatcher { callerPolls() }
                dispatcher.run { block(dispatcher) }
            }

        /** Asks until the context has a wait, which most calls refuse. */
        fun PollingWaits.make(context: CoroutineContext) = (1..1000).firstNotNullOfOrNull { of(context) }

        test("should keep a wait for each coroutine") {
            onPollingThread { dispatcher ->
                val waits = PollingWaits(dispatcher, 100)
                val contexts = List(100) { dispatcher.coroutineDispatcher + Job() }
                val made = contexts.map { waits.make(it).shouldNotBeNull() }
                // Some of the first were taken out for others at most, as their entries were full.
                contexts.zip(made).forEach { (context, wait) ->
                    waits.of(context)?.let { it shouldBeSameInstanceAs wait }
                }
                contexts.count { waits.of(it) == null } shouldBeLessThan 10
            }
        }

        test("should make no wait for a coroutine that it does not fit") {
            onPollingThread { dispatcher ->
                val waits = PollingWaits(dispatcher, 1)
                val cancelled = Job().also { it.cancel() }
                for (context in listOf(
                    EmptyCoroutineContext + Job(),
                    Dispatchers.Default + Job(),
                    dispatcher.coroutineDispatcher,
                    dispatcher.coroutineDispatcher + cancelled,
                )) {
                    waits.make(context).shouldBeNull()
                }
                thread { waits.make(dispatcher.coroutineDispatcher + Job()).shouldBeNull() }.join()
                waits.make(dispatcher.coroutineDispatcher + Job()).shouldNotBeNull()
            }
        }

        test("should leave the job of a coroutine whose wait is taken out for another one") {
            onPollingThread { dispatcher ->
                val waits = PollingWaits(dispatcher, 1)
                val jobs = List(20) { CountingJob() }
                for (job in jobs) waits.make(dispatcher.coroutineDispatcher + job).shouldNotBeNull()
                jobs.count { it.handlers.get() == 1 } shouldBe 8
                jobs.all { it.seen.get() == 1 } shouldBe true
                waits.close()
                jobs.sumOf { it.handlers.get() } shouldBe 0
                waits.make(dispatcher.coroutineDispatcher + jobs[0]).shouldBeNull()
            }
        }

        test("should keep no coroutine whose job ends on another thread while the table grows") {
            onPollingThread { dispatcher ->
                val waits = PollingWaits(dispatcher, 500)
                val jobs = List(500) { Job() }
                val ending = thread(isDaemon = true) { jobs.forEach { it.complete() } }
                val contexts =
                    jobs.map {
                        val context = dispatcher.coroutineDispatcher + it
                        waits.make(context)
                        WeakReference(context)
                    }
                ending.join()
                while (contexts.any { it.get() != null }) {
                    System.gc()
                    Thread.sleep(1)
                }
                waits.of(dispatcher.coroutineDispatcher + Job())
            }
        }

        test("should leave every job when another thread closes the queue while the table grows") {
            repeat(20) {
                onPollingThread { dispatcher ->
                    val waits = PollingWaits(dispatcher, 500)
                    val jobs = List(300) { CountingJob() }
                    val closing = thread(isDaemon = true) { waits.close() }
                    for (job in jobs) waits.make(dispatcher.coroutineDispatcher + job)
                    closing.join()
                    jobs.sumOf { it.handlers.get() } shouldBe 0
                }
            }
        }
    })
