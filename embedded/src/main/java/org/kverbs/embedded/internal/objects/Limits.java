package org.kverbs.embedded.internal.objects;

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
    /** The most flow rules, and the most counters of flow rules. */
    public static final int FLOWS = 1 << 13;
    /** The longest Ethernet frame in bytes: an MTU of 4200, the header and a VLAN tag. */
    public static final int FRAME = 4200 + 14 + 4;

    private Limits() {}
}
