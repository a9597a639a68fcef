package org.kverbs.internal;

import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.DeviceAttributes;
import org.kverbs.attributes.DeviceAttributesEx;
import org.kverbs.attributes.Ece;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.GidEntry;
import org.kverbs.attributes.PortAttributes;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.RateLimit;
import org.kverbs.attributes.SharedReceiveQueueAttributes;
import org.kverbs.internal.values.Structure;

/** The C structures of the values in {@code org.kverbs.attributes}. */
public final class Structures {
    private Structures() {}

    /** {@code struct ibv_ah_attr}. */
    public static final Structure<AddressAttributes> ADDRESS = Structure.of(AddressAttributes.class);
    /** {@code struct ibv_device_attr}. */
    public static final Structure<DeviceAttributes> DEVICE = Structure.of(DeviceAttributes.class);
    /** {@code struct ibv_device_attr_ex}. */
    public static final Structure<DeviceAttributesEx> DEVICE_EX = Structure.of(DeviceAttributesEx.class);
    /** {@code struct ibv_ece}. */
    public static final Structure<Ece> ECE = Structure.of(Ece.class);
    /** {@code struct ibv_qp_rate_limit_attr}. */
    public static final Structure<RateLimit> RATE_LIMIT = Structure.of(RateLimit.class);
    /** {@code union ibv_gid}. */
    public static final Structure<Gid> GID = Structure.of(Gid.class);
    /** {@code struct ibv_gid_entry}. */
    public static final Structure<GidEntry> GID_ENTRY = Structure.of(GidEntry.class);
    /** {@code struct ibv_port_attr}. */
    public static final Structure<PortAttributes> PORT = Structure.of(PortAttributes.class);
    /** {@code struct ibv_qp_attr} and its mask. */
    public static final Structure<QueuePairAttributes> QUEUE_PAIR = Structure.of(QueuePairAttributes.class);
    /** {@code struct ibv_qp_cap}. */
    public static final Structure<QueuePairCapabilities> CAPABILITIES = Structure.of(QueuePairCapabilities.class);
    /** {@code struct ibv_srq_attr}. */
    public static final Structure<SharedReceiveQueueAttributes> SHARED_RECEIVE_QUEUE =
            Structure.of(SharedReceiveQueueAttributes.class);
}
