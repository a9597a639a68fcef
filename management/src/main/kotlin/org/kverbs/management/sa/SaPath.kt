package org.kverbs.management.sa

import org.kverbs.attributes.Gid
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.Rate
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds

private const val TIMER_UNIT_NANOS = 4096L
private const val SMALLEST_MTU = 128

/**
 * A path that the subnet administrator has found between two ports.
 *
 * @property record all that the administrator said
 */
public class SaPath internal constructor(
    public val record: PathRecord,
) {
    /** The path for datagrams. */
    public val path: LidPath =
        LidPath(
            record.dlid,
            source = record.slid.takeIf { it.isUnicast },
            serviceLevel = record.sl,
            partitionKey = record.pKey,
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

    /** Returns the path with MTU, rate and life time. */
    override fun toString(): String = "$path MTU=$mtuBytes rate=$rate life=$lifeTime"
}
