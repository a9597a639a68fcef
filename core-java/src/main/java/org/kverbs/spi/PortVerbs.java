package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/** Asks about a port what {@code struct ibv_port_attr} does not have. Conventions as for {@link VerbsContext}. */
public interface PortVerbs {

    /** The calls of a device that knows nothing of this. */
    PortVerbs NONE = new PortVerbs() {};

    /** Returns the effective speed of a port in units of 100 Mb/s, or -errno ({@code ibv_query_port_speed}). */
    default long queryPortSpeed(int port) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Finds the Ethernet address of a destination ({@code ibv_resolve_eth_l2_from_gid}).
     *
     * @param address the destination, {@code struct ibv_ah_attr}
     * @param mac receives the 6 bytes of the address
     * @param vlan receives the number of the VLAN, 16 bits; 0xffff for none
     */
    default int resolveEthernet(MemorySegment address, MemorySegment mac, MemorySegment vlan) {
        return -Errno.EOPNOTSUPP;
    }
}
