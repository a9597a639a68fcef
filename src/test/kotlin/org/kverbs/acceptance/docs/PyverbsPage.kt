package org.kverbs.acceptance.docs

import kotlin.io.path.div
import kotlin.io.path.readLines

/** What the last two columns say of a test that kverbs cannot have yet. */
private const val NOT_THERE = "not there: "
private const val NOWHERE = "no device here"

/**
 * A row of the tables in docs/pyverbs.md.
 *
 * @property test module and name, as in `test_pd.test_alloc_pd`
 * @property ours the third column, which names tests of ours or says what is not there
 * @property where the fourth column
 */
internal data class PyverbsRow(
    val test: String,
    val shows: String,
    val ours: String,
    val where: String,
) {
    val tests: List<OurTest> =
        Regex(
            "`([\\w/-]+Spec)`: \"([^\"]+)\"",
        ).findAll(ours).map { OurTest(it.groupValues[1], it.groupValues[2]) }.toList()

    /** The places that the row names. */
    val places: Set<String> = where.split(", ").toSet()

    /** Whether the row says in both columns that there is no test. */
    val isNotThere: Boolean = ours.startsWith(NOT_THERE) && ours.length > NOT_THERE.length && where == NOWHERE

    override fun toString(): String = test
}

/** The page for users of Pyverbs. */
internal object PyverbsPage {
    private val page = Page.of("pyverbs.md")

    val prose: String = page.prose

    /** The rows of all tables of tests; a heading such as `### test_pd: ...` names the module of those below it. */
    val rows: List<PyverbsRow> =
        buildList {
            var module = ""
            for (line in page.text.lines()) {
                Regex("### (test_\\w+): .*").matchEntire(line)?.let { module = it.groupValues[1] }
                val cells = line.removeSurrounding("| ", " |").split(" | ")
                if (line.startsWith("| `test_") && cells.size == 4) {
                    add(PyverbsRow("$module.${cells[0].trim('`')}", cells[1], cells[2], cells[3]))
                }
            }
        }

    private val listed: List<String> =
        (root / "src/test/resources/pyverbs-tests.txt").readLines().filterNot { it.startsWith("#") }

    /** The names of Pyverbs' tests, module and name, from the list that its own program printed. */
    val tests: List<String> = listed.map(::nameOf)

    /** Those that pass on Soft-RoCE of Linux 6.1. */
    val passing: List<String> = listed.filter { it.endsWith(" passes") }.map(::nameOf)

    private fun nameOf(line: String): String {
        val (module, _, test) = line.removeSuffix(" passes").split('.')
        return "$module.$test"
    }

    /** The second cells of the table of classes, which name ours. */
    val classes: List<String> =
        page.text
            .substringAfter("\n## Classes")
            .substringBefore("\n## ")
            .lines()
            .filter { it.startsWith("| `") }
            .map { it.split(" | ")[1].removeSuffix(" |") }
}
