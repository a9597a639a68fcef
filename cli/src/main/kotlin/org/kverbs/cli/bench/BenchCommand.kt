package org.kverbs.cli.bench

import com.github.ajalt.clikt.completion.CompletionCandidates
import com.github.ajalt.clikt.core.CliktError
import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.options.split
import com.github.ajalt.clikt.parameters.options.transformAll
import com.github.ajalt.clikt.parameters.types.int
import com.github.ajalt.clikt.parameters.types.restrictTo
import org.kverbs.cli.requireFree

/**
 * The options of `kverbs bench`. What it compares kverbs with is in the sources alone, so that no published jar needs
 * it: the benchmarks there give this command its [run].
 */
public open class BenchCommand : CoreCliktCommand("bench") {
    /** Print the contenders in place of measuring them. */
    protected val isList: Boolean by option("--list", help = "List what is compared, and what is missing for it").flag()

    /** The contenders to measure; all, if it is empty. */
    protected val only: Set<String> by option(
        "--only",
        metavar = "NAME[,NAME...]",
        help = "Measure only these; can be given more than once",
    ).split(",").transformAll { lists -> lists.flatten().toSet() }

    /** How often each contender is measured. */
    protected val rounds: Int by option(
        "--rounds",
        metavar = "COUNT",
        help = "How often each one is measured, by turns (default 5)",
    ).int()
        .restrictTo(1..MOST_ROUNDS)
        .default(DEFAULT_ROUNDS)

    /** The milliseconds of a case. */
    protected val time: Int by option(
        "--time",
        metavar = "MILLISECONDS",
        help = "How long each case is measured, after as long a warm-up (default 500)",
    ).int()
        .restrictTo(1..MOST_MILLIS)
        .default(DEFAULT_MILLIS)

    /** The file for the figures of all rounds, or null. */
    protected val json: String? by option(
        "--json",
        metavar = "FILE",
        help = "Write the figures of all rounds to a file",
        completionCandidates = CompletionCandidates.Path,
    )

    /** True if that file can be replaced. */
    protected val isForced: Boolean by option("--force", help = "Let --json replace a file").flag()

    /** Write the tables and the pictures of the documentation. */
    protected val isWritten: Boolean by option(
        "--write",
        help = "Write the tables to docs/performance.md, and its pictures to docs/images",
    ).flag()

    /** Compare the costs of calls with those that are committed. */
    protected val isGate: Boolean by option(
        "--gate",
        help = "Fail if a call costs much more beside C than benchmarks/baseline.tsv says; given alone",
    ).flag()

    override fun help(context: Context): String =
        """
        Compare kverbs with other ways to move messages on this machine: round trips of 64 bytes and 4 KiB, and
        streams of messages of 64 KiB and 1 MiB.

        All of them are measured by turns, so that a busy machine slows all of them. The figures are medians of the
        rounds, beside those of TCP. What this machine lacks is left out, and named.
        """.trimIndent()

    override fun helpEpilog(context: Context): String =
        """
        Examples:
          ./kverbs bench                     all that this machine can run; a few minutes
          ./kverbs bench --only tcp,kverbs   two of them
          ./kverbs bench --gate              half a minute: costs of calls beside C
          ./kverbs lab './kverbs bench'      with the lab's RDMA devices, beside perftest

        The comparisons are part of the sources: they need a checkout, and Maven.
        """.trimIndent()

    /** Refuses a file for the figures that can't be made, or that is there already, before anything is measured. */
    protected fun requireFreeJson() {
        json?.let { requireFree("--json", it, isForced) }
    }

    override fun run(): Unit =
        throw CliktError(
            "kverbs: the comparisons are part of the sources, and this is kverbs without them: in a checkout, run " +
                "./kverbs bench",
        )

    private companion object {
        const val MOST_ROUNDS = 1000
        const val DEFAULT_ROUNDS = 5
        const val MOST_MILLIS = 600_000
        const val DEFAULT_MILLIS = 500
    }
}
