package org.kverbs.embedded.internal.device;

/** How many of everything a device has, and how large: generous, but an end that a test can reach. */
final class Limits {

    /** The one port. */
    static final int PORT = 1;
    static final int VECTORS = 1;
    static final int QUEUE_PAIRS = 1 << 16;
    static final int WORK_REQUESTS = 1 << 14;
    static final int ENTRIES = 32;
    static final int INLINE = 1024;
    static final int COMPLETION_QUEUES = 1 << 16;
    static final int COMPLETIONS = 1 << 20;
    static final int REGIONS = 1 << 18;
    static final int DOMAINS = 1 << 16;
    static final int READS = 128;
    static final int SHARED_QUEUES = 1 << 16;
    static final int SHARED_RECEIVES = 1 << 15;
    static final int GROUPS = 1 << 13;

    private Limits() {}
}
