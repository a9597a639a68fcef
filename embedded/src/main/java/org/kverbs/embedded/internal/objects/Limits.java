package org.kverbs.embedded.internal.objects;

import org.kverbs.internal.abi.IbvRxHashFields;
import org.kverbs.internal.abi.IbvWqFlags;

/** Lists the properties of all embedded devices that {@link org.kverbs.embedded.DeviceLimits} does not set. */
public final class Limits {

    /** The only port. */
    public static final int PORT = 1;
    public static final int VECTORS = 1;
    /** How many completions, and how many microseconds, a completion event can wait. */
    public static final int MODERATION = 0xffff;
    public static final int GROUPS = 1 << 13;
    /** The highest rate that a queue pair can be limited to, in kilobits a second: 100 Gb/s. */
    public static final int MOST_KBPS = 100_000_000;
    /** The rate of a port, in kilobits a second: one lane of SDR, as the attributes of the port say. */
    public static final long PORT_KBPS = 2_500_000;
    /** The clock of the device ticks once in a nanosecond; all bits of a timestamp count. */
    public static final long CLOCK_KHZ = 1_000_000;

    public static final long TIMESTAMP_MASK = -1;
    /** The bytes of device memory. */
    public static final long DEVICE_MEMORY = 1 << 18;
    /** The largest alignment of device memory, as an exponent. */
    public static final int DEVICE_MEMORY_ALIGNMENT = 12;
    /** The most completion counters of a context. */
    public static final int COMPLETION_COUNTERS = 1 << 12;
    /** The most tagged buffers, and the most operations that wait for their completion, of a shared receive queue. */
    public static final int TAGS = 1 << 12;
    /** The longest replay window of a flow action, in sequence numbers. */
    public static final int REPLAY_WINDOW = 1 << 16;
    /** The most flow rules, and the most counters and actions of flow rules. */
    public static final int FLOWS = 1 << 13;
    /** The most work queues. */
    public static final int WORK_QUEUES = 1 << 14;
    /** The most indirection tables. */
    public static final int TABLES = 1 << 12;
    /** The most entries of an indirection table, as an exponent. */
    public static final int LOG_TABLE = 11;
    /** The flags that a work queue can have. */
    public static final int WORK_QUEUE_FLAGS =
            IbvWqFlags.IBV_WQ_FLAGS_CVLAN_STRIPPING | IbvWqFlags.IBV_WQ_FLAGS_SCATTER_FCS;
    /** The fields that a hash can be of: a mask of {@code enum ibv_rx_hash_fields}. */
    public static final long HASHED = IbvRxHashFields.IBV_RX_HASH_SRC_IPV4
            | IbvRxHashFields.IBV_RX_HASH_DST_IPV4
            | IbvRxHashFields.IBV_RX_HASH_SRC_IPV6
            | IbvRxHashFields.IBV_RX_HASH_DST_IPV6
            | IbvRxHashFields.IBV_RX_HASH_SRC_PORT_TCP
            | IbvRxHashFields.IBV_RX_HASH_DST_PORT_TCP
            | IbvRxHashFields.IBV_RX_HASH_SRC_PORT_UDP
            | IbvRxHashFields.IBV_RX_HASH_DST_PORT_UDP
            | IbvRxHashFields.IBV_RX_HASH_INNER;
    /** The most bytes that a send can have which the device cuts into segments. */
    public static final int SEGMENTED = 1 << 18;
    /** The longest header of such a send. */
    public static final int SEGMENT_HEADER = 256;
    /** The longest Ethernet frame in bytes: an MTU of 4200, the header and a VLAN tag. */
    public static final int FRAME = 4200 + 14 + 4;

    private Limits() {}
}
