package org.kverbs.management.sa

import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.Rate
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

private const val TIMER_UNIT_NANOS = 4096L
private const val SMALLEST_MTU = 128
private const val USUAL_RESPONSE_CODE = 20
private const val LONGEST_CODE = 31
private const val LONGEST_HOP_LIMIT = 255

/**
 * A path that the subnet administrator has found between two ports. `QueuePair.connect(peer, path)` brings a queue pair
 * up by it.
 *
 * @property record all that the administrator said
 * @throws IllegalArgumentException if the record's LIDs address no ports
 */
public class SaPath(
    public val record: PathRecord,
) {
    /** Whether the path leaves the subnet, so that its packets need a global route. */
    public val isGlobal: Boolean get() = record.hopLimit > 1

    /** The path for datagrams. A global route has the source GID at index 0, the port's default one. */
    public val path: LidPath =
        LidPath(
            record.dlid,
            source = record.slid.takeIf { it.isUnicast },
            serviceLevel = record.sl,
            partitionKey = record.pKey,
            globalRoute =
                if (isGlobal) {
                    GlobalRoute(record.dgid, record.flowLabel, 0, record.hopLimit, record.tClass)
                } else {
                    null
                },
        )

    /** The port at the beginning. */
    public val source: Gid get() = record.sgid

    /** The port at the end. */
    public val destination: Gid get() = record.dgid

    /** The largest payload of a packet. */
    public val mtu: MTU get() = record.mtu

    /** The largest payload of a packet in bytes. */
    public val mtuBytes: Int get() = SMALLEST_MTU shl record.mtu.value

    /** The rate. */
    public val rate: Rate get() = record.rate

    /** How long a packet lives on the path. */
    public val lifeTime: Duration get() = (TIMER_UNIT_NANOS shl minOf(record.packetLifeTime, 40)).nanoseconds

    /**
     * Returns how long an answer to a datagram can take: a packet's life time there and back, and the time that the
     * peer takes.
     *
     * @param responseCode the peer's time as a code, 4.096 us * 2^code, which its ClassPortInfo has as `respTimeValue`;
     *   20, 4.3 seconds, is what a peer may take if nothing is known of it
     * @throws IllegalArgumentException if the code is not 0 to 31
     */
    public fun answerTime(responseCode: Int = USUAL_RESPONSE_CODE): Duration {
        require(responseCode in 0..LONGEST_CODE) { "the response time's code is 0 to $LONGEST_CODE, not $responseCode" }
        return lifeTime * 2 + (TIMER_UNIT_NANOS shl responseCode).nanoseconds
    }

    /** Returns the way back: LIDs and GIDs change places, and a global route has the longest hop limit. */
    public fun reverse(): SaPath {
        val there = record
        return SaPath(
            PathRecord.of(there.bytes()).apply {
                sgid = there.dgid
                dgid = there.sgid
                slid = there.dlid
                dlid = there.slid
                if (isGlobal) hopLimit = LONGEST_HOP_LIMIT
            },
        )
    }

    /** Returns the path with MTU, rate and life time. */
    override fun toString(): String = "$path MTU=$mtuBytes rate=$rate life=$lifeTime"
}
