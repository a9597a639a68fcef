package org.kverbs.testkit.kotest

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.junit.platform.engine.TestExecutionResult
import org.junit.platform.engine.discovery.DiscoverySelectors.selectClass
import org.junit.platform.launcher.TestExecutionListener
import org.junit.platform.launcher.TestIdentifier
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder
import org.junit.platform.launcher.core.LauncherFactory
import java.util.concurrent.ConcurrentHashMap

/** Runs specs as a user of the extension writes them. */
class LeakCheckExtensionSpec :
    FunSpec({
        test("should fail the test that leaks among the others") {
            val results = run(Leaks::class.java)
            results.size shouldBe 5
            val failures = results.failures()
            failures.keys shouldContainExactlyInAnyOrder setOf("leaks", "fails by itself")
            failures["fails by itself"] shouldBe "its own"
            failures["leaks"] shouldContain "1 resource is still open"
            failures["leaks"] shouldContain "Leaks.kt:"
        }

        test("should fail the right one of two tests that run at the same time") {
            val results = run(ParallelLeaks::class.java)
            results.size shouldBe 2
            results.failures().keys shouldContainExactlyInAnyOrder setOf("leaks")
        }
    })

private fun run(spec: Class<*>): Map<String, TestExecutionResult> {
    val results = ConcurrentHashMap<String, TestExecutionResult>()
    val listener =
        object : TestExecutionListener {
            override fun executionFinished(
                test: TestIdentifier,
                result: TestExecutionResult,
            ) {
                if (test.isTest) results[test.displayName] = result
            }
        }
    LauncherFactory.create().execute(
        LauncherDiscoveryRequestBuilder.request().selectors(selectClass(spec)).build(),
        listener,
    )
    return results
}

private fun Map<String, TestExecutionResult>.failures() =
    mapNotNull { (test, result) -> result.throwable.orElse(null)?.let { test to it.message } }.toMap()
