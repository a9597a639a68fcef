package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import org.kverbs.internal.abi.IbvRxHashFields;

/**
 * A field of a frame that takes part in a hash: {@code enum ibv_rx_hash_fields}. {@code
 * DeviceAttributesEx.receiveSideScaling().hashFields()} is the mask of those that a device has. A device can refuse a
 * set of them: mlx5 hashes either IPv4 or IPv6, and either TCP or UDP.
 */
public enum RxHashField {
    /** {@code IBV_RX_HASH_SRC_IPV4}. */
    SRC_IPV4(IbvRxHashFields.IBV_RX_HASH_SRC_IPV4),
    /** {@code IBV_RX_HASH_DST_IPV4}. */
    DST_IPV4(IbvRxHashFields.IBV_RX_HASH_DST_IPV4),
    /** {@code IBV_RX_HASH_SRC_IPV6}. */
    SRC_IPV6(IbvRxHashFields.IBV_RX_HASH_SRC_IPV6),
    /** {@code IBV_RX_HASH_DST_IPV6}. */
    DST_IPV6(IbvRxHashFields.IBV_RX_HASH_DST_IPV6),
    /** {@code IBV_RX_HASH_SRC_PORT_TCP}. */
    SRC_PORT_TCP(IbvRxHashFields.IBV_RX_HASH_SRC_PORT_TCP),
    /** {@code IBV_RX_HASH_DST_PORT_TCP}. */
    DST_PORT_TCP(IbvRxHashFields.IBV_RX_HASH_DST_PORT_TCP),
    /** {@code IBV_RX_HASH_SRC_PORT_UDP}. */
    SRC_PORT_UDP(IbvRxHashFields.IBV_RX_HASH_SRC_PORT_UDP),
    /** {@code IBV_RX_HASH_DST_PORT_UDP}. */
    DST_PORT_UDP(IbvRxHashFields.IBV_RX_HASH_DST_PORT_UDP),
    /** {@code IBV_RX_HASH_IPSEC_SPI}: the security parameters index of IPsec. */
    IPSEC_SPI(IbvRxHashFields.IBV_RX_HASH_IPSEC_SPI),
    /** {@code IBV_RX_HASH_INNER}: the other fields are those of the frame inside of a tunnel. */
    INNER(IbvRxHashFields.IBV_RX_HASH_INNER);

    private static final RxHashField[] ALL = values();

    private final long bit;

    RxHashField(long bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant in {@code enum ibv_rx_hash_fields}. */
    public long bit() {
        return bit;
    }

    /** Returns the bits of {@code fields} together; 0 for none. */
    public static long mask(Collection<RxHashField> fields) {
        long mask = 0;
        for (RxHashField field : fields) {
            mask |= field.bit;
        }
        return mask;
    }

    /** Returns a new set of the constants whose bit is in {@code mask}. Ignores bits that have no name. */
    public static EnumSet<RxHashField> of(long mask) {
        EnumSet<RxHashField> set = EnumSet.noneOf(RxHashField.class);
        for (RxHashField each : ALL) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return set;
    }
}
