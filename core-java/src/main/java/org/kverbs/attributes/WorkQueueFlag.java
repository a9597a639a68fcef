package org.kverbs.attributes;

import java.util.Collection;
import org.kverbs.internal.abi.IbvWqFlags;

/**
 * What a work queue does with the frames that it receives: {@code enum ibv_wq_flags}. {@code
 * DeviceAttributesEx.rawPacketCaps} and {@link DeviceCapability#PCI_WRITE_END_PADDING} show which a device has.
 */
public enum WorkQueueFlag {
    /** {@code IBV_WQ_FLAGS_CVLAN_STRIPPING}: the device takes the customer's VLAN tag (IEEE 802.1Q) out of a frame. */
    CVLAN_STRIPPING(IbvWqFlags.IBV_WQ_FLAGS_CVLAN_STRIPPING),
    /** {@code IBV_WQ_FLAGS_SCATTER_FCS}: the device writes the frame check sequence, 4 bytes, behind a frame. */
    SCATTER_FCS(IbvWqFlags.IBV_WQ_FLAGS_SCATTER_FCS),
    /** {@code IBV_WQ_FLAGS_DELAY_DROP}: a frame without a receive waits a while before the device drops it. */
    DELAY_DROP(IbvWqFlags.IBV_WQ_FLAGS_DELAY_DROP),
    /** {@code IBV_WQ_FLAGS_PCI_WRITE_END_PADDING}: the device pads its writes on the bus to a cache line. */
    PCI_WRITE_END_PADDING(IbvWqFlags.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING);

    private final int bit;

    WorkQueueFlag(int bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant in {@code enum ibv_wq_flags}. */
    public int bit() {
        return bit;
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static int mask(Collection<WorkQueueFlag> flags) {
        int mask = 0;
        for (WorkQueueFlag flag : flags) {
            mask |= flag.bit;
        }
        return mask;
    }
}
