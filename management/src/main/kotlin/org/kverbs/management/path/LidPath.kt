package org.kverbs.management.path

import org.kverbs.attributes.GlobalRoute
import org.kverbs.structures.Lid

/**
 * A path to a local identifier.
 *
 * @property destination the LID of the port that gets the datagram, 1 to 0xfffe
 * @property source the LID of the sender, or null for that of the transport's port
 * @property serviceLevel the service level, 0 to 15
 * @property partitionKey the partition
 * @property destinationQueuePair the queue pair, 24 bits: 1 for general services. A transport sends subnet management
 *   packets to 0, whatever the path says.
 * @property globalRoute the part for routers, or null inside of the subnet. [toString] does not print it, [toText]
 *   does.
 * @throws IllegalArgumentException if one is out of its range; the message names it
 */
public data class LidPath(
    public val destination: Lid,
    public val source: Lid? = null,
    public val serviceLevel: Int = 0,
    public val partitionKey: Int = DEFAULT_PARTITION,
    public val destinationQueuePair: Int = 1,
    public val globalRoute: GlobalRoute? = null,
) : MadPath {
    init {
        requireLid(destination)
        source?.let(::requireLid)
        require(serviceLevel in 0..15) { "the service level $serviceLevel is out of range; give 0 to 15" }
        require(partitionKey in 0..0xffff) { "the partition key $partitionKey is out of range; give 0 to 0xffff" }
        require(destinationQueuePair in 0..0xffffff) {
            "the queue pair $destinationQueuePair is out of range; give 0 to 0xffffff"
        }
    }

    private fun requireLid(lid: Lid) {
        require(lid.isUnicast || lid.isMulticast) { "LID $lid addresses no port; give 1 to 0xfffe" }
    }

    /**
     * Returns the path of an answer to general services: source and destination change places.
     *
     * @throws IllegalStateException if the path has no source, or has a global route: the way back needs this side's
     *   GID, which a path does not know
     */
    public fun reverse(): LidPath {
        check(globalRoute == null) {
            "$this has a global route, whose way back needs the GID of its source; give that path one of its own"
        }
        return copy(
            destination = checkNotNull(source) { "$this has no source; give one with copy(source = ...)" },
            source = destination,
            destinationQueuePair = 1,
        )
    }

    /**
     * Returns all that the path holds as `dlid=9 slid=8 sl=0 pkey=0xffff dqpn=1`, and of a global route `dgid`,
     * `sgid_index`, `hop_limit`, `flow_label` and `traffic_class`. [MadPath.parse] reads it.
     */
    public fun toText(): String = PathFields.print(this)

    /** Returns the form `Path 8 -> 9 SL=0 PKey=0xffff DQPN=1`; a path without a source is `Path 9 SL=0 ...`. */
    override fun toString(): String {
        val ends = if (source == null) "$destination" else "$source -> $destination"
        val partition = "0x${partitionKey.toString(16).padStart(4, '0')}"
        return "Path $ends SL=$serviceLevel PKey=$partition DQPN=$destinationQueuePair"
    }

    /** The default of a path. */
    public companion object {
        /** The partition that every port is in. */
        public const val DEFAULT_PARTITION: Int = 0xffff
    }
}

/** Returns the path to a LID of the subnet, with the default of everything else: `lid(12)`. */
public fun lid(number: Int): LidPath = LidPath(Lid(number))

/**
 * Returns the path to a LID that a structure or a port of a subnet has, with the default of everything else:
 * `lid(record.lid)`, `lid(port.lid)`.
 *
 * @throws IllegalArgumentException if the LID addresses no port, as that of a port without one does not
 */
public fun lid(lid: Lid): LidPath = LidPath(lid)
