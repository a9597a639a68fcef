package org.kverbs.embedded.internal.objects;

/** How many of everything a device has, and how large: generous, but an end that a test can reach. */
public final class Limits {

    /** The one port. */
    public static final int PORT = 1;
    public static final int VECTORS = 1;
    public static final int QUEUE_PAIRS = 1 << 16;
    public static final int WORK_REQUESTS = 1 << 14;
    public static final int ENTRIES = 32;
    public static final int INLINE = 1024;
    public static final int COMPLETION_QUEUES = 1 << 16;
    public static final int COMPLETIONS = 1 << 20;
    public static final int REGIONS = 1 << 18;
    public static final int DOMAINS = 1 << 16;
    public static final int READS = 128;
    public static final int SHARED_QUEUES = 1 << 16;
    public static final int SHARED_RECEIVES = 1 << 15;
    public static final int GROUPS = 1 << 13;

    private Limits() {}
}
