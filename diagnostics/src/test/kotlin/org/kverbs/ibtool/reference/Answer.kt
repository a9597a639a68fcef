package org.kverbs.ibtool.reference

/** What a program printed to standard output, and its exit status. */
internal data class Answer(
    val status: Int,
    val text: String,
) {
    /**
     * Without what changes between two runs: the time, the counters of traffic, which each question moves, how long
     * answers took, how fast processors run. Without what infiniband-diags prints to standard output when it fails,
     * too: ibtool's errors are on standard error.
     */
    fun stable(): Answer = copy(text = text.replace(changing, "").replace(failure, ""))

    private companion object {
        private val changing =
            Regex(
                "# Topology file: generated on .*|(?<=activity count )\\d+|(?<=time )[0-9.]+ ms|" +
                    "(?<=rtt min/avg/max = )[0-9./]+ ms|(?<=MHZ ) *[0-9.]+|" +
                    "(?<=Port(Xmit|Rcv)(Data|Pkts)(:\\.{20,21}| == ))\\d+( \\([0-9.]+[KMGTPE]?B?\\))?",
            )
        private val failure = Regex(".*: iberror: failed: .*\n")
    }
}
