package org.kverbs.testkit.kotest

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.concurrency.TestExecutionMode
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import org.kverbs.Context
import org.kverbs.dsl.openDevice

/** Tests that [LeakCheckExtensionSpec] runs: one of them leaks. */
internal class Leaks :
    FunSpec({
        extension(LeakCheckExtension)
        lateinit var shared: Context
        var leaked: Context? = null
        var closedAfterwards: Context? = null
        beforeSpec { shared = openDevice("embedded0") }
        afterSpec {
            shared.close()
            leaked?.close()
        }
        afterTest { closedAfterwards?.close() }

        test("leaks") { leaked = withContext(Dispatchers.IO) { openDevice("embedded0") } }

        test("is tidy") { shared.protectionDomain().close() }

        test("is tidy afterwards") { closedAfterwards = openDevice("embedded0") }

        test("fails by itself") {
            shared.protectionDomain()
            error("its own")
        }

        context("a container") {
            val opened = openDevice("embedded0")
            test("is tidy within") { opened.protectionDomain().close() }
            opened.close()
        }
    })

/** Two tests that [LeakCheckExtensionSpec] runs at the same time: one of them leaks. */
internal class ParallelLeaks :
    FunSpec({
        extension(LeakCheckExtension)
        testExecutionMode = TestExecutionMode.LimitedConcurrency(2)
        val hasLeaked = CompletableDeferred<Unit>()
        val isTidy = CompletableDeferred<Unit>()
        var leaked: Context? = null
        afterSpec { leaked?.close() }

        test("leaks") {
            leaked = openDevice("embedded0")
            hasLeaked.complete(Unit)
            isTidy.await()
        }

        test("is tidy") {
            hasLeaked.await()
            openDevice("embedded1").close()
            isTidy.complete(Unit)
        }
    })
