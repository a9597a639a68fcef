package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.string.shouldContain
import kotlin.io.path.div
import kotlin.io.path.readText

/** docs/pyverbs.md says of each test of Pyverbs which test of ours shows the same, and where it runs. */
class PyverbsSpec :
    FunSpec({
        val rows = PyverbsPage.rows

        test("should have one row for each of Pyverbs' tests, and no other") {
            PyverbsPage.tests shouldHaveSize 171
            rows.map { it.test } shouldContainExactlyInAnyOrder PyverbsPage.tests
        }

        test("should say in each row what the test shows, and name a test of ours or what is not there") {
            rows.filter { it.shows.isBlank() }.shouldBeEmpty()
            rows.filterNot { it.tests.isNotEmpty() xor it.isNotThere }.shouldBeEmpty()
            // A sentence that is not read as a test must not pass as a remark.
            rows.filter { row -> row.ours.count { it == '"' } != 2 * row.tests.size }.shouldBeEmpty()
        }

        test("should name tests that exist, and where all of a row run") {
            rows
                .filter { it.tests.isNotEmpty() }
                .mapNotNull { row ->
                    val missing = row.tests.filter { it.places.isEmpty() }
                    val places = row.tests.map { it.places }.reduce(Set<String>::intersect)
                    when {
                        missing.isNotEmpty() -> "${row.test}: there is no test $missing"
                        places != row.places -> "${row.test}: runs on $places, and the row says ${row.places}"
                        else -> null
                    }
                }.shouldBeEmpty()
        }

        test("should have a test of ours in the lab for each that Pyverbs passes on Soft-RoCE") {
            PyverbsPage.passing shouldHaveSize 86
            rows
                .filter { it.test in PyverbsPage.passing }
                .filter { row -> row.places.none { it == "rxe" || it == "lab" } }
                .shouldBeEmpty()
        }

        test("should count its rows in the introduction") {
            PyverbsPage.prose.replace(Regex("\\s+"), " ") shouldContain
                "${rows.count { it.tests.isNotEmpty() }} of these ${rows.size} tests"
        }

        test("should name classes and calls that the API has") {
            val api = listOf("core", "dsl").joinToString("\n\n") { (root / "api/kverbs-$it.api").readText() }
            val classes =
                api.split("\n\n").associateBy { it.substringBefore(" :").substringBefore(" {").substringAfterLast('/') }
            val named = PyverbsPage.classes.flatMap { Regex("`(\\w+)(?:\\.(\\w+))?`").findAll(it) }
            named.size shouldBeGreaterThan 30
            named
                .filterNot { found ->
                    val (name, call) = found.destructured
                    name in classes && (call.isEmpty() || "fun $call " in classes.getValue(name))
                }.map { it.value }
                .shouldBeEmpty()
        }
    })
