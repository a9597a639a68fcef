package org.kverbs.cli.top

import kotlinx.serialization.Serializable
import org.kverbs.PortTraffic
import kotlin.time.DurationUnit

/**
 * What a port has counted between two readings, or since its driver was loaded; null for what the driver does not count.
 * The properties are the keys of the JSON and, in their order, the columns of the CSV.
 *
 * A counter is unsigned, as the driver's.
 *
 * @property time when it was read, as ISO 8601
 * @property seconds the time between the readings; null for the counts since the driver was loaded
 */
@Serializable
internal class PortCounts(
    val time: String,
    val seconds: Double?,
    val device: String,
    val port: Int,
    val receivedBytes: ULong?,
    val sentBytes: ULong?,
    val receivedPackets: ULong?,
    val sentPackets: ULong?,
    val errors: ULong?,
    val discards: ULong?,
    val congestionMarks: ULong?,
) {
    /** The counts in their order, for tables. */
    val all: List<ULong?>
        get() = listOf(receivedBytes, sentBytes, receivedPackets, sentPackets, errors, discards, congestionMarks)

    companion object {
        /** The names of all properties, in the style of a CSV file. */
        val COLUMNS =
            listOf("time", "seconds", "device", "port", "received_bytes", "sent_bytes", "received_packets") +
                listOf("sent_packets", "errors", "discards", "congestion_marks")

        fun total(
            port: WatchedPort,
            time: String,
            now: PortTraffic,
        ) = counts(port, time, null) { it(now) }

        /** The counts between two readings of the port, and the time between these two. */
        fun between(
            port: WatchedPort,
            time: String,
            before: PortReading,
            after: PortReading,
        ): PortCounts {
            val seconds = (after.mark - before.mark).toDouble(DurationUnit.SECONDS)
            return counts(port, time, seconds) { of ->
                of(before.traffic)?.let { old -> of(after.traffic)?.let { grown(old, it) } }
            }
        }

        private fun counts(
            port: WatchedPort,
            time: String,
            seconds: Double?,
            value: ((PortTraffic) -> Long?) -> Long?,
        ) = PortCounts(
            time,
            seconds,
            port.device,
            port.port,
            value { it.receivedBytes }?.toULong(),
            value { it.sentBytes }?.toULong(),
            value { it.receivedPackets }?.toULong(),
            value { it.sentPackets }?.toULong(),
            value { it.errors }?.toULong(),
            value { it.discards }?.toULong(),
            value { it.congestionMarks }?.toULong(),
        )

        /** The growth of an unsigned counter. One that was reset meanwhile counts from zero. */
        private fun grown(
            before: Long,
            after: Long,
        ): Long = if (after.toULong() >= before.toULong()) after - before else after
    }
}
