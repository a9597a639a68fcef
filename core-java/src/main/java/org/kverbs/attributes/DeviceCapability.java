package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import org.kverbs.internal.abi.IbvDevice64CapFlags;
import org.kverbs.internal.abi.IbvDeviceCapFlags;

/**
 * An ability of a device. The low 32 bits are {@code enum ibv_device_cap_flags}; the high 32 bits exist only in {@code
 * device_cap_flags_ex}.
 */
public enum DeviceCapability {
    /** {@code IBV_DEVICE_RESIZE_MAX_WR}: queue pairs can be resized. */
    RESIZE_MAX_WR(IbvDeviceCapFlags.IBV_DEVICE_RESIZE_MAX_WR),
    /** {@code IBV_DEVICE_BAD_PKEY_CNTR}: the device counts packets with a wrong P_Key. */
    BAD_PKEY_CNTR(IbvDeviceCapFlags.IBV_DEVICE_BAD_PKEY_CNTR),
    /** {@code IBV_DEVICE_BAD_QKEY_CNTR}: the device counts packets with a wrong Q_Key. */
    BAD_QKEY_CNTR(IbvDeviceCapFlags.IBV_DEVICE_BAD_QKEY_CNTR),
    /** {@code IBV_DEVICE_RAW_MULTI}: raw packets can be sent to multicast addresses. */
    RAW_MULTI(IbvDeviceCapFlags.IBV_DEVICE_RAW_MULTI),
    /** {@code IBV_DEVICE_AUTO_PATH_MIG}: queue pairs can migrate to an alternate path by themselves. */
    AUTO_PATH_MIG(IbvDeviceCapFlags.IBV_DEVICE_AUTO_PATH_MIG),
    /** {@code IBV_DEVICE_CHANGE_PHY_PORT}: a queue pair can change its port. */
    CHANGE_PHY_PORT(IbvDeviceCapFlags.IBV_DEVICE_CHANGE_PHY_PORT),
    /** {@code IBV_DEVICE_UD_AV_PORT_ENFORCE}: the device checks the port of an address handle. */
    UD_AV_PORT_ENFORCE(IbvDeviceCapFlags.IBV_DEVICE_UD_AV_PORT_ENFORCE),
    /**
     * {@code IBV_DEVICE_CURR_QP_STATE_MOD}: ibv_modify_qp takes the current state of a queue pair ({@code
     * IBV_QP_CUR_STATE}).
     */
    CURR_QP_STATE_MOD(IbvDeviceCapFlags.IBV_DEVICE_CURR_QP_STATE_MOD),
    /** {@code IBV_DEVICE_SHUTDOWN_PORT}: a port can be shut down. */
    SHUTDOWN_PORT(IbvDeviceCapFlags.IBV_DEVICE_SHUTDOWN_PORT),
    /** {@code IBV_DEVICE_INIT_TYPE}: the initialisation type of a port can be set. */
    INIT_TYPE(IbvDeviceCapFlags.IBV_DEVICE_INIT_TYPE),
    /** {@code IBV_DEVICE_PORT_ACTIVE_EVENT}: the device reports when a port becomes active. */
    PORT_ACTIVE_EVENT(IbvDeviceCapFlags.IBV_DEVICE_PORT_ACTIVE_EVENT),
    /** {@code IBV_DEVICE_SYS_IMAGE_GUID}: the device has a system image GUID. */
    SYS_IMAGE_GUID(IbvDeviceCapFlags.IBV_DEVICE_SYS_IMAGE_GUID),
    /** {@code IBV_DEVICE_RC_RNR_NAK_GEN}: the device answers "receiver not ready" on RC. */
    RC_RNR_NAK_GEN(IbvDeviceCapFlags.IBV_DEVICE_RC_RNR_NAK_GEN),
    /** {@code IBV_DEVICE_SRQ_RESIZE}: shared receive queues can be resized. */
    SRQ_RESIZE(IbvDeviceCapFlags.IBV_DEVICE_SRQ_RESIZE),
    /** {@code IBV_DEVICE_N_NOTIFY_CQ}: a completion queue can wait for N completions. */
    N_NOTIFY_CQ(IbvDeviceCapFlags.IBV_DEVICE_N_NOTIFY_CQ),
    /** {@code IBV_DEVICE_MEM_WINDOW}: the device has memory windows. */
    MEM_WINDOW(IbvDeviceCapFlags.IBV_DEVICE_MEM_WINDOW),
    /** {@code IBV_DEVICE_UD_IP_CSUM}: the device checks IP checksums on UD. */
    UD_IP_CSUM(IbvDeviceCapFlags.IBV_DEVICE_UD_IP_CSUM),
    /** {@code IBV_DEVICE_XRC}: the device has extended reliable connections. */
    XRC(IbvDeviceCapFlags.IBV_DEVICE_XRC),
    /**
     * {@code IBV_DEVICE_MEM_MGT_EXTENSIONS}: the device has send with invalidate, local invalidate and fast
     * registration.
     */
    MEM_MGT_EXTENSIONS(IbvDeviceCapFlags.IBV_DEVICE_MEM_MGT_EXTENSIONS),
    /** {@code IBV_DEVICE_MEM_WINDOW_TYPE_2A}: the device has type 2A memory windows. */
    MEM_WINDOW_TYPE_2A(IbvDeviceCapFlags.IBV_DEVICE_MEM_WINDOW_TYPE_2A),
    /** {@code IBV_DEVICE_MEM_WINDOW_TYPE_2B}: the device has type 2B memory windows. */
    MEM_WINDOW_TYPE_2B(IbvDeviceCapFlags.IBV_DEVICE_MEM_WINDOW_TYPE_2B),
    /** {@code IBV_DEVICE_RC_IP_CSUM}: the device checks IP checksums on RC. */
    RC_IP_CSUM(IbvDeviceCapFlags.IBV_DEVICE_RC_IP_CSUM),
    /** {@code IBV_DEVICE_RAW_IP_CSUM}: the device checks IP checksums on raw packets. */
    RAW_IP_CSUM(IbvDeviceCapFlags.IBV_DEVICE_RAW_IP_CSUM),
    /** {@code IBV_DEVICE_MANAGED_FLOW_STEERING}: programs can steer packets to queues by rules. */
    MANAGED_FLOW_STEERING(IbvDeviceCapFlags.IBV_DEVICE_MANAGED_FLOW_STEERING),
    /** {@code IBV_DEVICE_RAW_SCATTER_FCS}: the device can deliver the frame check sequence of raw packets. */
    RAW_SCATTER_FCS(IbvDevice64CapFlags.IBV_DEVICE_RAW_SCATTER_FCS),
    /** {@code IBV_DEVICE_PCI_WRITE_END_PADDING}: the device can pad its writes on the bus to a cache line. */
    PCI_WRITE_END_PADDING(IbvDevice64CapFlags.IBV_DEVICE_PCI_WRITE_END_PADDING),
    /** {@code IB_UVERBS_DEVICE_FLUSH_GLOBAL}: the device can flush writes to global visibility. */
    FLUSH_GLOBAL(1L << 38),
    /** {@code IB_UVERBS_DEVICE_FLUSH_PERSISTENT}: the device can flush writes to persistent memory. */
    FLUSH_PERSISTENT(1L << 39),
    /** {@code IB_UVERBS_DEVICE_ATOMIC_WRITE}: the device has the atomic write of 8 bytes. */
    ATOMIC_WRITE(1L << 40);

    private static final DeviceCapability[] ALL = values();

    private final long bit;

    DeviceCapability(long bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant. */
    public long bit() {
        return bit;
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static long mask(DeviceCapability... flags) {
        return mask(List.of(flags));
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static long mask(Collection<DeviceCapability> flags) {
        long mask = 0;
        for (DeviceCapability flag : flags) {
            mask |= flag.bit;
        }
        return mask;
    }

    /** Returns a new set of the constants whose bit is in {@code mask}. Ignores bits that have no name. */
    public static EnumSet<DeviceCapability> of(long mask) {
        EnumSet<DeviceCapability> set = EnumSet.noneOf(DeviceCapability.class);
        for (DeviceCapability each : ALL) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return set;
    }
}
