package org.kverbs.cli.perf

import org.kverbs.RemoteMemory
import org.kverbs.attributes.QueuePairEndpoint
import kotlin.time.Duration

/** Two ends of kverbs meet: each step is a line from either to the other. */
internal class OwnMeeting(
    private val wire: Wire,
    private val rules: Map<String, String>,
) : Meeting {
    override val isOurs get() = true
    override val serverWritesFirst get() = false

    override fun greet() {
        wire.writeLine("$GREETING " + rules.map { (name, value) -> "$name=$value" }.joinToString(" "))
        val line = read(GREETING)
        val peer = line.split(' ').associate { it.substringBefore('=') to it.substringAfter('=') }
        val differing = rules.filter { (name, value) -> peer[name] != value }.keys
        if (differing.isEmpty()) return
        val causes = (differing - CONSEQUENCES).ifEmpty { differing - WARM_UP }.ifEmpty { differing }
        val both =
            causes.joinToString { name ->
                val option = if (name == "test") "TEST" else "--$name"
                "$option is ${rules[name]} here and ${peer[name]?.let(::value) ?: "unknown"} at the peer"
            }
        throw PerfException("the two ends differ: $both; give both the same")
    }

    override fun exchange(local: List<Meeting.Place>): List<Meeting.Place> {
        wire.writeLine("$PLACES " + local.joinToString(";") { it.toText() })
        val peer = read(PLACES).split(';').map(::parse)
        if (peer.size != local.size) throw PerfException("the peer has ${peer.size} queue pairs, not ${local.size}")
        return peer
    }

    private fun Meeting.Place.toText() = "${endpoint.toText()} ${memory.toText()} $reads"

    private fun parse(text: String): Meeting.Place {
        val words = text.split(' ')
        return try {
            val (endpoint, memory, reads) = words
            Meeting.Place(QueuePairEndpoint.parse(endpoint), RemoteMemory.parse(memory), reads.toInt())
        } catch (e: RuntimeException) {
            throw PerfException("the peer's address is ${shown(text)}: ${shown(e.message.orEmpty())}", e)
        }
    }

    override fun connected() = step("connected")

    override fun ready() = step("ready")

    private fun step(word: String) {
        wire.writeLine(word)
        read(word)
    }

    override fun tellSent(messages: Long) = wire.writeLine("$SENT $messages")

    override fun peerSent(): Long? {
        if (!wire.hasArrived()) return null
        val count = read(SENT)
        return count.toLongOrNull() ?: throw stranger(count)
    }

    override fun report(
        ours: PerfRow?,
        within: Duration,
    ): PerfRow? {
        wire.writeLine("$REPORT ${ours?.toLine() ?: NOTHING}")
        val text = read(REPORT, wire.readLine(within))
        if (text == NOTHING) return null
        val isLatency = rules.getValue("test").endsWith("-lat")
        return PerfRow.parse(text)?.takeIf { (it is PerfRow.Latency) == isLatency } ?: throw stranger(text)
    }

    override fun part() = step("done")

    /** The rest of the peer's next line, which must begin with this word. */
    private fun read(
        word: String,
        line: String = wire.readLine(),
    ): String {
        if (line.substringBefore(' ') != word) throw stranger(line)
        return line.substringAfter(' ', "")
    }

    private fun stranger(line: String): PerfException {
        val isPerftest = PERFTEST.containsMatchIn(line)
        val hint = if (isPerftest) "it is a program of perftest: give --perftest" else "is it kverbs perf?"
        return PerfException("the peer said ${shown(line)}; $hint")
    }

    private companion object {
        const val GREETING = "kverbs-perf-1"
        const val PLACES = "at"
        const val SENT = "sent"
        const val REPORT = "report"
        const val NOTHING = "nothing"

        /** perftest's programs begin with their version, filled up with zeros. */
        val PERFTEST = Regex("^[0-9]+\\.[0-9]+$")

        const val WARM_UP = "warm-up"

        /** The options whose defaults depend on others. */
        val CONSEQUENCES = setOf(WARM_UP, "size", "iters")

        /** The peer's value of an option, which is a word, unless the peer is a stranger. */
        fun value(text: String) = if (Regex("[a-z0-9-]{1,60}").matches(text)) text else shown(text)

        /** A stranger's text, so that it can't drive the terminal. */
        fun shown(text: String) = "\"" + text.take(60).map { if (it in ' '..'~') it else '?' }.joinToString("") + "\""
    }
}
