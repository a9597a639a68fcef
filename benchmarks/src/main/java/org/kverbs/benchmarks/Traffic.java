package org.kverbs.benchmarks;

/** Lists the kinds of traffic that {@link Streaming} measures. */
enum Traffic {
    /** The receiver posts a receive for each message, and polls. */
    SEND_64("send-64", 64, true, 16, 8),
    /** The receiver's program does nothing. */
    WRITE_64("write-64", 64, false, 16, 8),
    SEND_64_KIB("send-64KiB", 1 << 16, true, 1, 16),
    WRITE_1_MIB("write-1MiB", 1 << 20, false, 1, 4);

    private final String label;
    private final int bytes;
    private final boolean received;
    private final int batch;
    private final int batches;

    Traffic(String label, int bytes, boolean received, int batch, int batches) {
        this.label = label;
        this.bytes = bytes;
        this.received = received;
        this.batch = batch;
        this.batches = batches;
    }

    String label() {
        return label;
    }

    /** The bytes of a message. */
    int bytes() {
        return bytes;
    }

    /** True if each message takes a receive; otherwise messages are writes. */
    boolean isReceived() {
        return received;
    }

    /** The messages of a batch; only the last has a completion at the sender. */
    int batch() {
        return batch;
    }

    /** The number of batches in flight. */
    int batches() {
        return batches;
    }
}
