package org.kverbs.testkit.kotest

import io.kotest.core.extensions.TestCaseExtension
import io.kotest.core.test.TestCase
import io.kotest.core.test.TestType
import io.kotest.engine.test.TestResult
import org.kverbs.testkit.LeakWatch
import org.kverbs.testkit.leakCheckSuspending

/**
 * Fails each test that leaves a resource open. The message names each resource and shows where it was opened. Tests may
 * run concurrently; [LeakWatch] describes which resources belong to a test.
 *
 * ```
 * class SessionSpec : FunSpec({
 *     extension(LeakCheckExtension)
 *     test("should close its session") { ... }
 * })
 * ```
 *
 * Set it in the project's configuration for all specs. A resource that was opened before the test, as by `beforeSpec`,
 * is not a leak, nor is one that `afterTest` closes. A failed test is not checked.
 */
public object LeakCheckExtension : TestCaseExtension {
    /** Runs the test, and fails a test that passed but left a resource open. */
    override suspend fun intercept(
        testCase: TestCase,
        execute: suspend (TestCase) -> TestResult,
    ): TestResult {
        if (testCase.type != TestType.Test) return execute(testCase)
        var result: TestResult? = null
        return try {
            leakCheckSuspending { execute(testCase).also { result = it } }
        } catch (e: AssertionError) {
            val done = result ?: throw e
            if (done.isSuccess) TestResult.Failure(done.duration, e) else done
        }
    }
}
