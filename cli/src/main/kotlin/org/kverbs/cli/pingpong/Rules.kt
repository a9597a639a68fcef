package org.kverbs.cli.pingpong

import org.kverbs.attributes.QueuePairType

/**
 * The options that must be the same at both ends of a ping-pong. The ping-pongs of rdma-core do not exchange them. Two
 * ping-pongs of kverbs send each other a line with them after the addresses.
 *
 * @property warmUp rounds before those that are measured
 */
internal data class Rules(
    val type: QueuePairType,
    val size: Int,
    val mtu: Int,
    val iterations: Int,
    val warmUp: Int,
    val check: Boolean,
) {
    /** The line that the peer reads, with its end. */
    fun toLine(): String = FIELDS.joinToString(" ", "$GREETING ", "\n") { (name, value) -> "$name=${value(this)}" }

    /**
     * Compares the rules of both ends.
     *
     * @throws PingPongException if they differ; names each option and both values
     */
    fun requireSame(peer: Rules) {
        val differing = FIELDS.filter { (_, value) -> value(this) != value(peer) }
        if (differing.isEmpty()) return
        val causes = differing.filter { (name, _) -> name !in CONSEQUENCES }.ifEmpty { differing }
        val both =
            causes.joinToString { (name, value) -> "--$name is ${value(this)} here and ${value(peer)} at the peer" }
        throw PingPongException("the two ends differ: $both; give both the same")
    }

    companion object {
        /** The first word of the line. A line longer than [MOST] is refused. */
        private const val GREETING = "kverbs"
        const val MOST = 200

        /** The options with their values. */
        private val FIELDS: List<Pair<String, (Rules) -> String>> =
            listOf(
                "type" to { it.type.name.lowercase() },
                "size" to { "${it.size}" },
                "mtu" to { "${it.mtu}" },
                "iters" to { "${it.iterations}" },
                "warm-up" to { "${it.warmUp}" },
                "chk" to { if (it.check) "on" else "off" },
            )

        /** Whose defaults depend on the other options. */
        private val CONSEQUENCES = setOf("mtu", "warm-up")

        private val LINE =
            Regex(
                "$GREETING type=(rc|uc|ud) size=(\\d{1,10}) mtu=(\\d{1,4}) iters=(\\d{1,9}) warm-up=(\\d{1,9}) " +
                    "chk=(on|off)",
            )

        /** Reads a line of [toLine] without its end; null if the text is none. */
        fun parse(line: String): Rules? {
            val (type, size, mtu, iterations, warmUp, check) = LINE.matchEntire(line)?.destructured ?: return null
            return Rules(
                QueuePairType.valueOf(type.uppercase()),
                size.toIntOrNull() ?: return null,
                mtu.toInt(),
                iterations.toInt(),
                warmUp.toInt(),
                check == "on",
            )
        }
    }
}
