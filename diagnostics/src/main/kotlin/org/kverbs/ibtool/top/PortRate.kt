package org.kverbs.ibtool.top

import org.kverbs.ibtool.counters.PortReading
import org.kverbs.management.subnet.SubnetPort
import kotlin.time.DurationUnit

/**
 * What a port carried between two readings.
 *
 * @property sent bytes a second
 * @property received bytes a second
 * @property packets packets a second of both directions
 * @property errors how many errors were counted between the readings, an unsigned number
 * @property allErrors how many errors the counters of the port have, an unsigned number
 */
internal class PortRate(
    val port: SubnetPort,
    val sent: Double,
    val received: Double,
    val packets: Double,
    val errors: Long,
    val allErrors: Long,
) {
    companion object {
        /**
         * The rate between two readings of a port. A counter that was reset meanwhile counts from zero.
         *
         * @param hidden the counters that are no errors
         */
        fun between(
            before: PortReading,
            after: PortReading,
            hidden: Set<String>,
        ): PortRate {
            // Between these two: a port of a large fabric is read long after another.
            val seconds = (after.time - before.time).toDouble(DurationUnit.SECONDS)

            fun rate(of: (PortReading) -> Long) = grown(of(before), of(after)).toULong().toDouble() / seconds

            fun errors(reading: PortReading) = reading.errors.filterKeys { it !in hidden }
            val old = errors(before)
            return PortRate(
                after.port,
                sent = rate { it.sentBytes },
                received = rate { it.receivedBytes },
                packets = rate { it.sentPackets } + rate { it.receivedPackets },
                errors = sum(errors(after).map { (name, value) -> grown(old.getValue(name), value) }),
                allErrors = sum(errors(after).values),
            )
        }

        /** The sum of unsigned numbers; of too large ones all 64 bits. */
        private fun sum(numbers: Collection<Long>): Long =
            numbers
                .fold(0uL) { sum, number ->
                    if (sum + number.toULong() <
                        sum
                    ) {
                        ULong.MAX_VALUE
                    } else {
                        sum + number.toULong()
                    }
                }.toLong()

        private fun grown(
            before: Long,
            after: Long,
        ): Long = if (java.lang.Long.compareUnsigned(after, before) >= 0) after - before else after
    }
}
