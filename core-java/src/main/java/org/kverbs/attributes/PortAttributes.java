package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import org.kverbs.internal.abi.IbvPortAttr;
import org.kverbs.internal.abi.IbvPortFlags;
import org.kverbs.internal.values.AlignedText;
import org.kverbs.internal.values.Structure;

/**
 * The state, the limits and the abilities of a port: {@code struct ibv_port_attr} (ibv_query_port(3); IBA volume 1,
 * section 14.2.5.6).
 *
 * @param state the logical state; UNKNOWN if {@code rawState} has no name
 * @param rawState the number of {@code state}
 * @param maxMtu the largest MTU of the port; UNKNOWN if {@code rawMaxMtu} has no name
 * @param rawMaxMtu the number of {@code maxMtu}
 * @param activeMtu the MTU that the port uses, the upper bound of a path MTU; UNKNOWN if {@code rawActiveMtu} has no
 *     name
 * @param rawActiveMtu the number of {@code activeMtu}
 * @param gidTableLength how many entries the GID table has
 * @param portCapFlags the abilities of the port as a mask of {@code enum ibv_port_cap_flags}; see {@link
 *     #capabilities()}
 * @param maxMessageSize the longest message, in bytes
 * @param badPkeyCounter how many packets had a wrong P_Key, unsigned
 * @param qkeyViolationCounter how many packets had a wrong Q_Key, unsigned
 * @param pkeyTableLength how many entries the P_Key table has
 * @param lid the LID of the port; 0 on Ethernet
 * @param smLid the LID of the subnet manager; 0 on Ethernet
 * @param lmc the LID mask count: the port answers to 2^lmc LIDs
 * @param maxVlNum how many virtual lanes the port has, as a code: 1 is VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14
 * @param smSl the service level for messages to the subnet manager
 * @param subnetTimeout the code n of the longest travel time of a packet in the subnet, 4.096 us * 2^n
 * @param initTypeReply how the subnet manager initialised the port
 * @param activeWidth the width of the link, a code; see {@link #widthText()}
 * @param activeSpeed the speed of one lane, a code; see {@link #speedText()}
 * @param physState the state of the link, a code; see {@link #physStateText()}
 * @param linkLayer the link layer; UNKNOWN if {@code rawLinkLayer} has no name
 * @param rawLinkLayer the number of {@code linkLayer}
 * @param flags {@code IBV_QPF_GRH_REQUIRED} or 0; see {@link #isGlobalRouteRequired()}
 * @param portCapFlags2 further abilities of the port as a mask of {@code enum ibv_port_cap_flags2}; see {@link
 *     #capabilities()}
 */
public record PortAttributes(
        PortState state,
        int rawState,
        Mtu maxMtu,
        int rawMaxMtu,
        Mtu activeMtu,
        int rawActiveMtu,
        int gidTableLength,
        int portCapFlags,
        long maxMessageSize,
        int badPkeyCounter,
        int qkeyViolationCounter,
        int pkeyTableLength,
        int lid,
        int smLid,
        int lmc,
        int maxVlNum,
        int smSl,
        int subnetTimeout,
        int initTypeReply,
        int activeWidth,
        int activeSpeed,
        int physState,
        LinkLayer linkLayer,
        int rawLinkLayer,
        int flags,
        int portCapFlags2) {

    static {
        Structure.offer(PortAttributes.class, PortAttributes::from);
    }

    /**
     * The offset of {@code active_speed_ex}, a {@code uint32_t} that newer libraries have after the fields of the
     * headers that kverbs binds.
     */
    private static final int ACTIVE_SPEED_EX = 52;

    /**
     * Reads the C structure at the start of {@code segment}, which is 4-byte aligned memory in the machine's byte
     * order. Reads the wider speed field of newer libraries too if the segment is long enough.
     */
    static PortAttributes from(MemorySegment segment) {
        return new PortAttributes(
                PortState.of(segment.get(JAVA_INT, IbvPortAttr.STATE)),
                segment.get(JAVA_INT, IbvPortAttr.STATE),
                Mtu.of(segment.get(JAVA_INT, IbvPortAttr.MAX_MTU)),
                segment.get(JAVA_INT, IbvPortAttr.MAX_MTU),
                Mtu.of(segment.get(JAVA_INT, IbvPortAttr.ACTIVE_MTU)),
                segment.get(JAVA_INT, IbvPortAttr.ACTIVE_MTU),
                segment.get(JAVA_INT, IbvPortAttr.GID_TBL_LEN),
                segment.get(JAVA_INT, IbvPortAttr.PORT_CAP_FLAGS),
                Integer.toUnsignedLong(segment.get(JAVA_INT, IbvPortAttr.MAX_MSG_SZ)),
                segment.get(JAVA_INT, IbvPortAttr.BAD_PKEY_CNTR),
                segment.get(JAVA_INT, IbvPortAttr.QKEY_VIOL_CNTR),
                u16(segment, IbvPortAttr.PKEY_TBL_LEN),
                u16(segment, IbvPortAttr.LID),
                u16(segment, IbvPortAttr.SM_LID),
                u8(segment, IbvPortAttr.LMC),
                u8(segment, IbvPortAttr.MAX_VL_NUM),
                u8(segment, IbvPortAttr.SM_SL),
                u8(segment, IbvPortAttr.SUBNET_TIMEOUT),
                u8(segment, IbvPortAttr.INIT_TYPE_REPLY),
                u8(segment, IbvPortAttr.ACTIVE_WIDTH),
                speed(segment),
                u8(segment, IbvPortAttr.PHYS_STATE),
                LinkLayer.of(u8(segment, IbvPortAttr.LINK_LAYER)),
                u8(segment, IbvPortAttr.LINK_LAYER),
                u8(segment, IbvPortAttr.FLAGS),
                u16(segment, IbvPortAttr.PORT_CAP_FLAGS2));
    }

    private static int u8(MemorySegment segment, int offset) {
        return Byte.toUnsignedInt(segment.get(JAVA_BYTE, offset));
    }

    private static int u16(MemorySegment segment, int offset) {
        return Short.toUnsignedInt(segment.get(JAVA_SHORT, offset));
    }

    /** Returns the wider speed field if it is filled in. Speeds from XDR on do not fit into the old field. */
    private static int speed(MemorySegment segment) {
        if (segment.byteSize() >= ACTIVE_SPEED_EX + JAVA_INT.byteSize()) {
            int wide = segment.get(JAVA_INT, ACTIVE_SPEED_EX);
            if (wide != 0) {
                return wide;
            }
        }
        return u8(segment, IbvPortAttr.ACTIVE_SPEED);
    }

    /** Returns a new set of the abilities of the port. The masks also hold bits that have no name. */
    public EnumSet<PortCapability> capabilities() {
        return PortCapability.of((long) portCapFlags2 << 32 | Integer.toUnsignedLong(portCapFlags));
    }

    /** Returns whether every address on this port needs a global route, as on Ethernet. */
    public boolean isGlobalRouteRequired() {
        return linkLayer == LinkLayer.ETHERNET || (flags & IbvPortFlags.IBV_QPF_GRH_REQUIRED) != 0;
    }

    /** Returns how many lanes the link has, or 0 if {@link #activeWidth()} is an unknown code. */
    public int lanes() {
        return switch (activeWidth) {
            case 1 -> 1;
            case 2 -> 4;
            case 4 -> 8;
            case 8 -> 12;
            case 16 -> 2;
            default -> 0;
        };
    }

    /** Returns the width of the link as ibv_devinfo(1) prints it, such as "4X". */
    public String widthText() {
        return lanes() == 0 ? "invalid width" : lanes() + "X";
    }

    /** Returns the nominal speed of one lane in Gb/s, as ibv_devinfo(1) counts it; 0 if the code is unknown. */
    public double laneGbps() {
        return switch (activeSpeed) {
            case 1 -> 2.5;
            case 2 -> 5.0;
            case 4, 8 -> 10.0;
            case 16 -> 14.0;
            case 32 -> 25.0;
            case 64 -> 50.0;
            case 128 -> 100.0;
            case 256 -> 200.0;
            default -> 0.0;
        };
    }

    /** Returns the nominal speed of the link in Gb/s, the sum of its lanes, or 0 if its width or speed is unknown. */
    public double linkGbps() {
        return lanes() * laneGbps();
    }

    /** Returns the speed of one lane as ibv_devinfo(1) prints it, such as "25.0 Gbps". */
    public String speedText() {
        return laneGbps() == 0 ? "invalid speed" : laneGbps() + " Gbps";
    }

    /** Returns the state of the link as ibv_devinfo(1) spells it, such as "LINK_UP". */
    public String physStateText() {
        return switch (physState) {
            case 1 -> "SLEEP";
            case 2 -> "POLLING";
            case 3 -> "DISABLED";
            case 4 -> "PORT_CONFIGURATION TRAINNING";
            case 5 -> "LINK_UP";
            case 6 -> "LINK_ERROR_RECOVERY";
            case 7 -> "PHY TEST";
            default -> "invalid physical state";
        };
    }

    /** Returns one {@code Name : value} line for each attribute, aligned. */
    @Override
    public String toString() {
        return new AlignedText(24)
                .line("Port state", state + " (" + rawState + ")")
                .line("Max MTU", maxMtu.bytes() + " (" + rawMaxMtu + ")")
                .line("Active MTU", activeMtu.bytes() + " (" + rawActiveMtu + ")")
                .line("SM lid", smLid)
                .line("Port lid", lid)
                .line("lmc", lmc)
                .line("Link layer", linkLayer + " (" + rawLinkLayer + ")")
                .hex("Max message size", maxMessageSize)
                .hex("Port cap flags", Integer.toUnsignedLong(portCapFlags))
                .hex("Port cap flags 2", portCapFlags2)
                .line("Max VL num", maxVlNum)
                .line("Bad Pkey counter", Integer.toUnsignedString(badPkeyCounter))
                .line("Qkey violations counter", Integer.toUnsignedString(qkeyViolationCounter))
                .line("Gid table len", gidTableLength)
                .line("Pkey table len", pkeyTableLength)
                .line("SM sl", smSl)
                .line("Subnet timeout", subnetTimeout)
                .line("Init type reply", initTypeReply)
                .line("Active width", widthText() + " (" + activeWidth + ")")
                .line("Active speed", speedText() + " (" + activeSpeed + ")")
                .line("Phys state", physStateText() + " (" + physState + ")")
                .line("Flags", flags)
                .toString();
    }
}
