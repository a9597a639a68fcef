package org.kverbs.benchmarks.bench

import java.nio.file.Path
import java.util.Locale
import kotlin.io.path.readLines
import kotlin.io.path.writeText
import kotlin.system.exitProcess

/**
 * `benchmarks/run --gate`: fails if a call costs much more beside C than the baseline says, or allocates.
 *
 * @param args the program in C, libnullverbs, the file of the baseline; then `--write` to write that file
 */
fun main(args: Array<String>) {
    val (loops, library, baseline) = args.map { Path.of(it) }
    val calls = Calls(loops, library)
    val isWritten = args.drop(3) == listOf("--write")
    val gate = Gate(calls::measure)
    try {
        if (isWritten) {
            baseline.writeText(Gate.text(gate.costs()))
        } else {
            exitProcess(if (gate.passes(Gate.ratios(baseline.readLines()))) 0 else 1)
        }
    } catch (e: BenchException) {
        System.err.println("run: ${e.message}")
        exitProcess(1)
    }
}

/**
 * Compares the costs of calls beside C with those of a baseline. A call that costs too much is measured again, as a
 * busy machine disturbs one measurement; it fails only if the best of [ATTEMPTS] is too much.
 *
 * @property measure measures some calls once
 */
internal class Gate(
    private val measure: (Collection<Call>) -> Map<Call, Calls.Cost>,
    private val tell: (String) -> Unit = ::println,
) {
    /**
     * Measures the calls and tells each with its verdict.
     *
     * @param baseline the ratio of each call to C
     * @return true if no call is beyond [LIMIT] times its ratio, and none allocates
     * @throws BenchException if the baseline lacks a call, or no attempt measures one of the calls
     */
    fun passes(baseline: Map<String, Double>): Boolean {
        val limits =
            Call.entries.associateWith { call ->
                LIMIT * (baseline["$call"] ?: throw BenchException("the baseline has no $call: $WRITE"))
            }
        val best = mutableMapOf<Call, Calls.Cost>()
        var left: Collection<Call> = Call.entries
        repeat(ATTEMPTS) {
            if (left.isNotEmpty()) best.attempt(left)
            left = left.filter { call -> best[call]?.let { fails(it, limits.getValue(call)) } ?: true }
        }
        requireAll(best)
        tell("%-44s%10s%10s%8s%8s%8s".format("ns a call, processor time", "kverbs", "C", "ratio", "limit", "B/call"))
        for ((call, cost) in best) {
            val numbers = arrayOf(cost.kverbs, cost.c, cost.ratio, limits.getValue(call), cost.allocated)
            val verdict = if (call in left) "  too much" else ""
            tell("%-44s%10.1f%10.1f%8.2f%8.2f%8.0f".format(Locale.ROOT, call.title, *numbers) + verdict)
        }
        if (left.isNotEmpty()) {
            val which = left.joinToString { it.title }
            tell("$which: more than $LIMIT times the baseline's ratio to C, $ATTEMPTS times; $WRITE")
        }
        return left.isEmpty()
    }

    /** Measures as often as [passes] at most, and returns the best of each call, for a new baseline. */
    fun costs(): Map<Call, Calls.Cost> =
        mutableMapOf<Call, Calls.Cost>().apply { repeat(ATTEMPTS) { attempt(Call.entries) } }.also(::requireAll)

    /** Measures some calls. One of its programs can fail, as on a busy machine: then this attempt adds nothing. */
    private fun MutableMap<Call, Calls.Cost>.attempt(calls: Collection<Call>) {
        try {
            merge(measure(calls))
        } catch (e: BenchException) {
            tell("an attempt failed: ${e.message}")
        }
    }

    private fun requireAll(costs: Map<Call, Calls.Cost>) {
        val missing = Call.entries - costs.keys
        if (missing.isNotEmpty()) {
            throw BenchException("$ATTEMPTS attempts did not measure ${missing.joinToString { it.title }}")
        }
    }

    private fun MutableMap<Call, Calls.Cost>.merge(measured: Map<Call, Calls.Cost>) =
        measured.forEach { (call, cost) -> merge(call, cost, Calls.Cost::best) }

    private fun fails(
        cost: Calls.Cost,
        limit: Double,
    ) = cost.ratio > limit || cost.allocated >= 1

    internal companion object {
        /** Beyond so many times the baseline's ratio a call costs too much. */
        const val LIMIT = 1.6

        /** How often a call is measured before it fails. */
        const val ATTEMPTS = 3

        private const val WRITE = "if this is meant, benchmarks/run --gate --write makes a new baseline"

        /** Reads a baseline: a call's name and its ratio in a line, with a tab between them. */
        fun ratios(lines: List<String>): Map<String, Double> =
            lines.filter { '\t' in it }.associate { it.substringBefore('\t') to it.substringAfter('\t').toDouble() }

        /** The lines of a baseline. */
        fun text(costs: Map<Call, Calls.Cost>): String =
            "# How many times as long as in C a call takes; benchmarks/run --gate --write made this.\n" +
                costs.entries.joinToString("") { (call, cost) -> "%s\t%.2f\n".format(Locale.ROOT, call, cost.ratio) }
    }
}
