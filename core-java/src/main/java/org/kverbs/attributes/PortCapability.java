package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import org.kverbs.internal.abi.IbvPortCapFlags;
import org.kverbs.internal.abi.IbvPortCapFlags2;

/**
 * What a port can do (IBA volume 1, section 14.2.5.6, CapabilityMask and CapabilityMask2). C has two masks; here they
 * are one of 64 bits: {@code port_cap_flags} in the low half and {@code port_cap_flags2} in the high half.
 */
public enum PortCapability {
    /** {@code IBV_PORT_SM}: a subnet manager runs on the port. */
    SM(IbvPortCapFlags.IBV_PORT_SM),
    /** {@code IBV_PORT_NOTICE_SUP}: notices. */
    NOTICE_SUP(IbvPortCapFlags.IBV_PORT_NOTICE_SUP),
    /** {@code IBV_PORT_TRAP_SUP}: traps. */
    TRAP_SUP(IbvPortCapFlags.IBV_PORT_TRAP_SUP),
    /** {@code IBV_PORT_OPT_IPD_SUP}: optional inter-packet delays. */
    OPT_IPD_SUP(IbvPortCapFlags.IBV_PORT_OPT_IPD_SUP),
    /** {@code IBV_PORT_AUTO_MIGR_SUP}: automatic path migration. */
    AUTO_MIGR_SUP(IbvPortCapFlags.IBV_PORT_AUTO_MIGR_SUP),
    /** {@code IBV_PORT_SL_MAP_SUP}: mapping of service levels to lanes. */
    SL_MAP_SUP(IbvPortCapFlags.IBV_PORT_SL_MAP_SUP),
    /** {@code IBV_PORT_MKEY_NVRAM}: keeps its M_Key without power. */
    MKEY_NVRAM(IbvPortCapFlags.IBV_PORT_MKEY_NVRAM),
    /** {@code IBV_PORT_PKEY_NVRAM}: keeps its P_Keys without power. */
    PKEY_NVRAM(IbvPortCapFlags.IBV_PORT_PKEY_NVRAM),
    /** {@code IBV_PORT_LED_INFO_SUP}: its LED can be controlled. */
    LED_INFO_SUP(IbvPortCapFlags.IBV_PORT_LED_INFO_SUP),
    /** {@code IBV_PORT_SYS_IMAGE_GUID_SUP}: a system image GUID. */
    SYS_IMAGE_GUID_SUP(IbvPortCapFlags.IBV_PORT_SYS_IMAGE_GUID_SUP),
    /** {@code IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP}: P_Key traps of a switch's external ports. */
    PKEY_SW_EXT_PORT_TRAP_SUP(IbvPortCapFlags.IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP),
    /** {@code IBV_PORT_EXTENDED_SPEEDS_SUP}: FDR and faster. */
    EXTENDED_SPEEDS_SUP(IbvPortCapFlags.IBV_PORT_EXTENDED_SPEEDS_SUP),
    /** {@code IBV_PORT_CAP_MASK2_SUP}: has the second capability mask. */
    CAP_MASK2_SUP(IbvPortCapFlags.IBV_PORT_CAP_MASK2_SUP),
    /** {@code IBV_PORT_CM_SUP}: a communication manager. */
    CM_SUP(IbvPortCapFlags.IBV_PORT_CM_SUP),
    /** {@code IBV_PORT_SNMP_TUNNEL_SUP}: SNMP tunnelling. */
    SNMP_TUNNEL_SUP(IbvPortCapFlags.IBV_PORT_SNMP_TUNNEL_SUP),
    /** {@code IBV_PORT_REINIT_SUP}: reinitialisation of the node. */
    REINIT_SUP(IbvPortCapFlags.IBV_PORT_REINIT_SUP),
    /** {@code IBV_PORT_DEVICE_MGMT_SUP}: device management. */
    DEVICE_MGMT_SUP(IbvPortCapFlags.IBV_PORT_DEVICE_MGMT_SUP),
    /** {@code IBV_PORT_VENDOR_CLASS_SUP}: vendors' management classes. */
    VENDOR_CLASS_SUP(IbvPortCapFlags.IBV_PORT_VENDOR_CLASS_SUP),
    /** {@code IBV_PORT_DR_NOTICE_SUP}: notices by directed route. */
    DR_NOTICE_SUP(IbvPortCapFlags.IBV_PORT_DR_NOTICE_SUP),
    /** {@code IBV_PORT_CAP_MASK_NOTICE_SUP}: a notice when its capabilities change. */
    CAP_MASK_NOTICE_SUP(IbvPortCapFlags.IBV_PORT_CAP_MASK_NOTICE_SUP),
    /** {@code IBV_PORT_BOOT_MGMT_SUP}: boot management. */
    BOOT_MGMT_SUP(IbvPortCapFlags.IBV_PORT_BOOT_MGMT_SUP),
    /** {@code IBV_PORT_LINK_LATENCY_SUP}: measures link latency. */
    LINK_LATENCY_SUP(IbvPortCapFlags.IBV_PORT_LINK_LATENCY_SUP),
    /** {@code IBV_PORT_CLIENT_REG_SUP}: knows requests to register again. */
    CLIENT_REG_SUP(IbvPortCapFlags.IBV_PORT_CLIENT_REG_SUP),
    /** {@code IBV_PORT_IP_BASED_GIDS}: its GIDs are made from IP addresses (RoCE). */
    IP_BASED_GIDS(IbvPortCapFlags.IBV_PORT_IP_BASED_GIDS),
    /** {@code IBV_PORT_SET_NODE_DESC_SUP}: its node description can be set. */
    SET_NODE_DESC_SUP((long) IbvPortCapFlags2.IBV_PORT_SET_NODE_DESC_SUP << 32),
    /** {@code IBV_PORT_INFO_EXT_SUP}: extended port information. */
    INFO_EXT_SUP((long) IbvPortCapFlags2.IBV_PORT_INFO_EXT_SUP << 32),
    /** {@code IBV_PORT_VIRT_SUP}: virtual ports. */
    VIRT_SUP((long) IbvPortCapFlags2.IBV_PORT_VIRT_SUP << 32),
    /** {@code IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP}: a table of port states. */
    SWITCH_PORT_STATE_TABLE_SUP((long) IbvPortCapFlags2.IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP << 32),
    /** {@code IBV_PORT_LINK_WIDTH_2X_SUP}: 2X links. */
    LINK_WIDTH_2X_SUP((long) IbvPortCapFlags2.IBV_PORT_LINK_WIDTH_2X_SUP << 32),
    /** {@code IBV_PORT_LINK_SPEED_HDR_SUP}: HDR, 50 Gb/s a lane. */
    LINK_SPEED_HDR_SUP((long) IbvPortCapFlags2.IBV_PORT_LINK_SPEED_HDR_SUP << 32),
    /** {@code IBV_PORT_LINK_SPEED_NDR_SUP}: NDR, 100 Gb/s a lane. */
    LINK_SPEED_NDR_SUP((long) IbvPortCapFlags2.IBV_PORT_LINK_SPEED_NDR_SUP << 32),
    /** {@code IBV_PORT_LINK_SPEED_XDR_SUP}: XDR, 200 Gb/s a lane. */
    LINK_SPEED_XDR_SUP(1L << 44);

    private static final PortCapability[] ALL = values();

    private final long bit;

    PortCapability(long bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant. */
    public long bit() {
        return bit;
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static long mask(PortCapability... flags) {
        return mask(List.of(flags));
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static long mask(Collection<PortCapability> flags) {
        long mask = 0;
        for (PortCapability flag : flags) {
            mask |= flag.bit;
        }
        return mask;
    }

    /**
     * Returns the constants whose bit is in {@code mask}, a new set; bits without a name are left out, never an error.
     */
    public static EnumSet<PortCapability> of(long mask) {
        EnumSet<PortCapability> set = EnumSet.noneOf(PortCapability.class);
        for (PortCapability each : ALL) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return set;
    }
}
