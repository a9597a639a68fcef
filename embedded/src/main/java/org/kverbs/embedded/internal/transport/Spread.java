package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.wire.FrameHeaders;
import org.kverbs.embedded.internal.wire.Toeplitz;

/**
 * Spreads the frames of a queue pair over the work queues of a table. A field that a frame does not have is left out of
 * the hash, and a frame without any of the fields goes to the first entry. A part of a fragmented packet is hashed
 * without ports, so that all parts come to one queue. Guarded by the engine's lock.
 */
public final class Spread {

    final WqTable table;
    private final Toeplitz function;
    private final long fields;
    private final byte[] input = new byte[FrameHeaders.HASHED];
    /** The number of the last frame that was taken, as {@link Steering} counts them. */
    private long last;

    /** @param fields a mask of {@code enum ibv_rx_hash_fields} */
    public Spread(WqTable table, Toeplitz function, long fields) {
        this.table = table;
        this.function = function;
        this.fields = fields;
    }

    void take(long frame, int length, long number, FrameHeaders headers, Counters counters) {
        if (number != last) {
            last = number;
            int hash = function.hash(input, headers.hashed(fields, input));
            table.at(hash).take(frame, length, counters);
        }
    }
}
