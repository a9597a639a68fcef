package org.kverbs.benchmarks.bench

import java.nio.file.Path
import java.util.Locale
import kotlin.io.path.createDirectories
import kotlin.io.path.div
import kotlin.io.path.readText
import kotlin.io.path.writeText

/**
 * Writes a measurement to the documentation: the table between two marks of docs/performance.md, and pictures beside
 * it.
 *
 * @param root the project's folder
 */
internal class Pages(
    private val root: Path,
) {
    /**
     * Writes both.
     *
     * @throws BenchException if the page has not each mark once, in this order; nothing is written then
     */
    fun write(report: Report) {
        val page = root / "docs/performance.md"
        val written = between(page.readText(), table(report))
        val pictures = (root / "docs/images").createDirectories()
        Case.entries.forEach { (pictures / "bench-$it.svg").writeText(report.picture(it)) }
        page.writeText(written)
    }

    private fun table(report: Report): String {
        val machine = report.machine
        return "${report.markdown()}\n\n" +
            "Measured on ${machine.day}: ${machine.processors} processors (${machine.model}), ${machine.kernel}, " +
            "Java ${machine.java}, with a load average of ${"%.1f".format(Locale.ROOT, machine.load)} at the end. " +
            "${report.handover.orEmpty()}\n"
    }

    companion object {
        /** Before the table, and behind it. */
        const val BEGIN = "<!-- ./kverbs bench --write: begin -->\n"
        const val END = "<!-- ./kverbs bench --write: end -->\n"

        /** Returns the page with this text between its marks. */
        fun between(
            page: String,
            text: String,
        ): String {
            val begin = page.indexOf(BEGIN)
            val end = page.indexOf(END)
            if (begin < 0 || end < begin) {
                throw BenchException("docs/performance.md has not the lines $BEGIN and $END, one after the other")
            }
            return page.take(begin + BEGIN.length) + "\n" + text + "\n" + page.drop(end)
        }
    }
}
