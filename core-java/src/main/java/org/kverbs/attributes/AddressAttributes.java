package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.values.Ranges;
import org.kverbs.internal.values.Structure;

/**
 * The path to a peer: {@code struct ibv_ah_attr} (ibv_create_ah(3); IBA volume 1, section 11.2.2.1). A connected queue
 * pair has one among its attributes; an address handle for datagrams is made from one.
 *
 * <p>Inside an InfiniBand subnet a LID is enough: use {@link #toLid}. On RoCE the LID is 0 and a global route is
 * needed: use {@link #toGid}. For all other paths use {@link #builder()}.
 *
 * @param destinationLid the LID of the peer, 16 bits; 0 on RoCE
 * @param serviceLevel the service level, 0 to 15; on RoCE the priority, which also sets the priority of the VLAN tag
 * @param sourcePathBits the low bits of the LID to send from, 0 to 127, for a port that has several LIDs (LMC)
 * @param rawStaticRate the limit on the sending rate as the code of a {@link StaticRate}, 0 to 255; 0 for no limit
 * @param port the local port to send from, 1 to 255; 0 only in an answer of a device that does not name it
 * @param globalRoute the route beyond the subnet, or null for none
 */
public record AddressAttributes(
        int destinationLid, int serviceLevel, int sourcePathBits, int rawStaticRate, int port,
        @Nullable GlobalRoute globalRoute) {

    static {
        Structure.offer(AddressAttributes.class, AddressAttributes::from, AddressAttributes::writeTo);
    }

    /**
     * {@code sl} has four bits on the wire and {@code src_path_bits} seven. The other bits of their bytes are ignored.
     */
    private static final int SERVICE_LEVEL_MASK = 15;

    private static final int PATH_BITS_MASK = 127;

    /**
     * Checks that each number is in its range.
     *
     * @throws IllegalArgumentException if one is out of its range; the message names it
     */
    public AddressAttributes {
        Ranges.require("destination LID", destinationLid, 0, 0xffff);
        Ranges.require("service level", serviceLevel, 0, SERVICE_LEVEL_MASK);
        Ranges.require("source path bits", sourcePathBits, 0, PATH_BITS_MASK);
        Ranges.require("static rate", rawStaticRate, 0, 255);
        Ranges.require("port", port, 0, 255);
    }

    /** Starts to build an address. Each setter of the builder documents its default. */
    public static AddressAttributesBuilder builder() {
        return new AddressAttributesBuilder();
    }

    /**
     * Returns the address of a peer on RoCE. On InfiniBand it serves a path that needs no LID.
     *
     * @param dgid the GID of the peer
     * @param sgidIndex the entry of the local GID table to send from, 0 to 255
     * @param port the local port, 1 to 255
     * @throws IllegalArgumentException if a number is out of its range
     */
    public static AddressAttributes toGid(Gid dgid, int sgidIndex, int port) {
        return builder().port(port).globalRoute(dgid, sgidIndex).build();
    }

    /**
     * Returns the address of a peer in the same InfiniBand subnet.
     *
     * @param lid the LID of the peer, 0 to 65535
     * @param port the local port, 1 to 255
     * @throws IllegalArgumentException if a number is out of its range
     */
    public static AddressAttributes toLid(int lid, int port) {
        return builder().port(port).destinationLid(lid).build();
    }

    /** Returns the limit on the sending rate, or UNKNOWN if {@link #rawStaticRate()} has no name. */
    public StaticRate staticRate() {
        return StaticRate.of(rawStaticRate);
    }

    /**
     * Reads the C structure at the start of {@code segment}, which is 4-byte aligned memory in the machine's byte
     * order.
     */
    static AddressAttributes from(MemorySegment segment) {
        return new AddressAttributes(
                Short.toUnsignedInt(segment.get(JAVA_SHORT, IbvAhAttr.DLID)),
                segment.get(JAVA_BYTE, IbvAhAttr.SL) & SERVICE_LEVEL_MASK,
                segment.get(JAVA_BYTE, IbvAhAttr.SRC_PATH_BITS) & PATH_BITS_MASK,
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvAhAttr.STATIC_RATE)),
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvAhAttr.PORT_NUM)),
                segment.get(JAVA_BYTE, IbvAhAttr.IS_GLOBAL) != 0
                ? GlobalRoute.from(segment.asSlice(IbvAhAttr.GRH)) : null);
    }

    /**
     * Writes the whole C structure at the start of {@code segment}. Without a global route the fields of the route
     * become 0.
     */
    void writeTo(MemorySegment segment) {
        segment.asSlice(0, IbvAhAttr.SIZE).fill((byte) 0);
        segment.set(JAVA_SHORT, IbvAhAttr.DLID, (short) destinationLid);
        segment.set(JAVA_BYTE, IbvAhAttr.SL, (byte) serviceLevel);
        segment.set(JAVA_BYTE, IbvAhAttr.SRC_PATH_BITS, (byte) sourcePathBits);
        segment.set(JAVA_BYTE, IbvAhAttr.STATIC_RATE, (byte) rawStaticRate);
        segment.set(JAVA_BYTE, IbvAhAttr.PORT_NUM, (byte) port);
        if (globalRoute != null) {
            segment.set(JAVA_BYTE, IbvAhAttr.IS_GLOBAL, (byte) 1);
            globalRoute.writeTo(segment.asSlice(IbvAhAttr.GRH));
        }
    }
}
