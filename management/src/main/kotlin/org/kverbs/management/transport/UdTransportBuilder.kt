package org.kverbs.management.transport

import org.kverbs.attributes.ConnectOptions
import org.kverbs.umad.UmadAddress

/** The settings of a [UdTransport]. */
public class UdTransportBuilder internal constructor() {
    internal var receives: Int = 256
        private set
    internal var sends: Int = 256
        private set
    internal var addresses: Int = 256
        private set
    private val options = ConnectOptions.builder().qkey(UmadAddress.GENERAL_SERVICES_QKEY)

    /** The port of the device; 1 without this. */
    public fun port(number: Int) {
        options.port(number)
    }

    /** The index of the GID that datagrams come from; without this the device's default for connections. */
    public fun gidIndex(index: Int) {
        options.gidIndex(index)
    }

    /** The index of the partition key; 0 without this. All datagrams of a queue pair are in one partition. */
    public fun partitionKeyIndex(index: Int) {
        options.pkeyIndex(index)
    }

    /**
     * The Q_Key that datagrams carry, in both directions; without this the one of general services, 0x80010000. Newer
     * kernels let only root have a key whose highest bit is set.
     */
    public fun queueKey(key: Int) {
        options.qkey(key)
    }

    /** How many datagrams can wait for the program; 256 without this. Further ones are lost. */
    public fun receives(count: Int) {
        require(count > 0) { "at least one datagram must find room, not $count" }
        receives = count
    }

    /** How many datagrams can be under way to the device; 256 without this. A further one waits. */
    public fun sends(count: Int) {
        require(count > 0) { "at least one datagram must be under way, not $count" }
        sends = count
    }

    /** How many address handles are kept for peers that were sent to before; 256 without this. */
    public fun addresses(count: Int) {
        require(count > 0) { "at least one address handle must be kept, not $count" }
        addresses = count
    }

    internal fun options(): ConnectOptions = options.build()
}
