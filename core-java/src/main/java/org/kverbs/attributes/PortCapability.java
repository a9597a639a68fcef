package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import org.kverbs.internal.abi.IbvPortCapFlags;
import org.kverbs.internal.abi.IbvPortCapFlags2;

/**
 * An ability of a port (IBA volume 1, section 14.2.5.6, CapabilityMask and CapabilityMask2). C has two masks. Here they
 * are one mask of 64 bits: {@code port_cap_flags} in the low half and {@code port_cap_flags2} in the high half.
 */
public enum PortCapability {
    /** {@code IBV_PORT_SM}: a subnet manager runs on the port. */
    SM(IbvPortCapFlags.IBV_PORT_SM),
    /** {@code IBV_PORT_NOTICE_SUP}: the port sends notices. */
    NOTICE_SUP(IbvPortCapFlags.IBV_PORT_NOTICE_SUP),
    /** {@code IBV_PORT_TRAP_SUP}: the port sends traps. */
    TRAP_SUP(IbvPortCapFlags.IBV_PORT_TRAP_SUP),
    /** {@code IBV_PORT_OPT_IPD_SUP}: the port has the optional inter-packet delays. */
    OPT_IPD_SUP(IbvPortCapFlags.IBV_PORT_OPT_IPD_SUP),
    /** {@code IBV_PORT_AUTO_MIGR_SUP}: the port supports automatic path migration. */
    AUTO_MIGR_SUP(IbvPortCapFlags.IBV_PORT_AUTO_MIGR_SUP),
    /** {@code IBV_PORT_SL_MAP_SUP}: the port maps service levels to virtual lanes. */
    SL_MAP_SUP(IbvPortCapFlags.IBV_PORT_SL_MAP_SUP),
    /** {@code IBV_PORT_MKEY_NVRAM}: the port keeps its M_Key without power. */
    MKEY_NVRAM(IbvPortCapFlags.IBV_PORT_MKEY_NVRAM),
    /** {@code IBV_PORT_PKEY_NVRAM}: the port keeps its P_Keys without power. */
    PKEY_NVRAM(IbvPortCapFlags.IBV_PORT_PKEY_NVRAM),
    /** {@code IBV_PORT_LED_INFO_SUP}: software can control the LED of the port. */
    LED_INFO_SUP(IbvPortCapFlags.IBV_PORT_LED_INFO_SUP),
    /** {@code IBV_PORT_SYS_IMAGE_GUID_SUP}: the port has a system image GUID. */
    SYS_IMAGE_GUID_SUP(IbvPortCapFlags.IBV_PORT_SYS_IMAGE_GUID_SUP),
    /** {@code IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP}: the switch sends P_Key traps of its external ports. */
    PKEY_SW_EXT_PORT_TRAP_SUP(IbvPortCapFlags.IBV_PORT_PKEY_SW_EXT_PORT_TRAP_SUP),
    /** {@code IBV_PORT_EXTENDED_SPEEDS_SUP}: the port can run at FDR and faster. */
    EXTENDED_SPEEDS_SUP(IbvPortCapFlags.IBV_PORT_EXTENDED_SPEEDS_SUP),
    /** {@code IBV_PORT_CAP_MASK2_SUP}: the port has the second capability mask. */
    CAP_MASK2_SUP(IbvPortCapFlags.IBV_PORT_CAP_MASK2_SUP),
    /** {@code IBV_PORT_CM_SUP}: the port has a communication manager. */
    CM_SUP(IbvPortCapFlags.IBV_PORT_CM_SUP),
    /** {@code IBV_PORT_SNMP_TUNNEL_SUP}: the port supports SNMP tunnelling. */
    SNMP_TUNNEL_SUP(IbvPortCapFlags.IBV_PORT_SNMP_TUNNEL_SUP),
    /** {@code IBV_PORT_REINIT_SUP}: the node can be reinitialised. */
    REINIT_SUP(IbvPortCapFlags.IBV_PORT_REINIT_SUP),
    /** {@code IBV_PORT_DEVICE_MGMT_SUP}: the port supports device management. */
    DEVICE_MGMT_SUP(IbvPortCapFlags.IBV_PORT_DEVICE_MGMT_SUP),
    /** {@code IBV_PORT_VENDOR_CLASS_SUP}: the port supports management classes of vendors. */
    VENDOR_CLASS_SUP(IbvPortCapFlags.IBV_PORT_VENDOR_CLASS_SUP),
    /** {@code IBV_PORT_DR_NOTICE_SUP}: the port sends notices by directed route. */
    DR_NOTICE_SUP(IbvPortCapFlags.IBV_PORT_DR_NOTICE_SUP),
    /** {@code IBV_PORT_CAP_MASK_NOTICE_SUP}: the port sends a notice when its capabilities change. */
    CAP_MASK_NOTICE_SUP(IbvPortCapFlags.IBV_PORT_CAP_MASK_NOTICE_SUP),
    /** {@code IBV_PORT_BOOT_MGMT_SUP}: the port supports boot management. */
    BOOT_MGMT_SUP(IbvPortCapFlags.IBV_PORT_BOOT_MGMT_SUP),
    /** {@code IBV_PORT_LINK_LATENCY_SUP}: the port measures the latency of its link. */
    LINK_LATENCY_SUP(IbvPortCapFlags.IBV_PORT_LINK_LATENCY_SUP),
    /** {@code IBV_PORT_CLIENT_REG_SUP}: the port understands requests to register again. */
    CLIENT_REG_SUP(IbvPortCapFlags.IBV_PORT_CLIENT_REG_SUP),
    /** {@code IBV_PORT_IP_BASED_GIDS}: the GIDs of the port are made from IP addresses (RoCE). */
    IP_BASED_GIDS(IbvPortCapFlags.IBV_PORT_IP_BASED_GIDS),
    /** {@code IBV_PORT_SET_NODE_DESC_SUP}: the subnet manager can set the node description. */
    SET_NODE_DESC_SUP((long) IbvPortCapFlags2.IBV_PORT_SET_NODE_DESC_SUP << 32),
    /** {@code IBV_PORT_INFO_EXT_SUP}: the port has extended port information. */
    INFO_EXT_SUP((long) IbvPortCapFlags2.IBV_PORT_INFO_EXT_SUP << 32),
    /** {@code IBV_PORT_VIRT_SUP}: the port has virtual ports. */
    VIRT_SUP((long) IbvPortCapFlags2.IBV_PORT_VIRT_SUP << 32),
    /** {@code IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP}: the switch has a table of port states. */
    SWITCH_PORT_STATE_TABLE_SUP((long) IbvPortCapFlags2.IBV_PORT_SWITCH_PORT_STATE_TABLE_SUP << 32),
    /** {@code IBV_PORT_LINK_WIDTH_2X_SUP}: the port can run 2X links. */
    LINK_WIDTH_2X_SUP((long) IbvPortCapFlags2.IBV_PORT_LINK_WIDTH_2X_SUP << 32),
    /** {@code IBV_PORT_LINK_SPEED_HDR_SUP}: the port can run at HDR, 50 Gb/s a lane. */
    LINK_SPEED_HDR_SUP((long) IbvPortCapFlags2.IBV_PORT_LINK_SPEED_HDR_SUP << 32),
    /** {@code IBV_PORT_LINK_SPEED_NDR_SUP}: the port can run at NDR, 100 Gb/s a lane. */
    LINK_SPEED_NDR_SUP((long) IbvPortCapFlags2.IBV_PORT_LINK_SPEED_NDR_SUP << 32),
    /** {@code IBV_PORT_LINK_SPEED_XDR_SUP}: the port can run at XDR, 200 Gb/s a lane. */
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

    /** Returns a new set of the constants whose bit is in {@code mask}. Ignores bits that have no name. */
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
