package org.kverbs.attributes;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.kverbs.internal.abi.IbvGidEntry;
import org.kverbs.internal.values.Structure;

/**
 * One entry of a port's GID table: {@code struct ibv_gid_entry} (ibv_query_gid_ex(3), ibv_query_gid_table(3)).
 *
 * @param gid the address
 * @param index the index of the entry in the table, from 0; an {@link AddressAttributes address} names its source GID
 *     by it
 * @param port the port of the device, from 1
 * @param type the type of the entry; UNKNOWN if {@code rawType} has no name
 * @param rawType the number of {@code type}
 * @param netdevIndex the index of the network interface that the GID belongs to; 0 for none, as on InfiniBand
 */
public record GidEntry(Gid gid, int index, int port, GidType type, int rawType, int netdevIndex) {

    static {
        Structure.offer(GidEntry.class, GidEntry::from);
    }

    /** Reads the C structure at the start of {@code segment}, which is native memory in the machine's byte order. */
    static GidEntry from(MemorySegment segment) {
        int rawType = segment.get(ValueLayout.JAVA_INT, IbvGidEntry.GID_TYPE);
        return new GidEntry(
                Gid.from(segment, IbvGidEntry.GID),
                segment.get(ValueLayout.JAVA_INT, IbvGidEntry.GID_INDEX),
                segment.get(ValueLayout.JAVA_INT, IbvGidEntry.PORT_NUM),
                GidType.of(rawType),
                rawType,
                segment.get(ValueLayout.JAVA_INT, IbvGidEntry.NDEV_IFINDEX));
    }
}
