package org.kverbs.ibtool.services

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.with

/** What came of the pings so far. The report can come from another thread, at Ctrl-C. */
internal class PingStatistics(
    private val target: String,
) {
    private var host = ""
    private var sent = 0L
    private var received = 0L
    private var least = 0L
    private var most = 0L
    private var total = 0L
    private val loss get() = if (sent == 0L) 0 else (sent - received) * PERCENT / sent
    private val average get() = if (received == 0L) 0 else total / received

    /** Counts a ping that was sent. */
    @Synchronized
    fun sent() {
        sent++
    }

    /** Counts an answer of [name], which took [time] microseconds. */
    @Synchronized
    fun received(
        name: String,
        time: Long,
    ) {
        if (host.isEmpty()) host = name
        least = if (received == 0L) time else minOf(least, time)
        most = maxOf(most, time)
        total += time
        received++
    }

    /** The lines of infiniband-diags, [time] microseconds after the first ping. */
    @Synchronized
    fun text(time: Long): String =
        "\n--- $host ($target) ibping statistics ---\n" +
            "$sent packets transmitted, $received received, $loss% packet loss, time ${time / THOUSAND} ms\n" +
            "rtt min/avg/max = ${milliseconds(least)}/${milliseconds(average)}/${milliseconds(most)} ms"

    @Synchronized
    fun json(time: Long): JsonObject =
        buildJsonObject {
            put("host", host)
            put("target", target)
            put("transmitted", sent)
            put("received", received)
            put("lossPercent", loss)
            put("timeMicroseconds", time)
            put("leastMicroseconds", least)
            put("averageMicroseconds", average)
            put("mostMicroseconds", most)
        }

    companion object {
        private const val PERCENT = 100
        private const val THOUSAND = 1000

        /** Microseconds as milliseconds with three digits behind the point. */
        fun milliseconds(time: Long): String = "%d.%03d".with(time / THOUSAND, time % THOUSAND)
    }
}
