package org.kverbs.embedded.internal.objects;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Holds the counts of a queue pair, or those of a device without its queue pairs. Guarded by the engine's lock. While
 * no thread has that lock, the threads of a {@code DirectPath} count at the two queue pairs that they have locked.
 */
@SuppressWarnings("EnumOrdinal") // an index into an array of this JVM alone
public final class Counters {

    private final long[] values = new long[Counter.ALL.length];

    public void count(Counter counter) {
        values[counter.ordinal()]++;
    }

    public void count(Counter counter, long more) {
        values[counter.ordinal()] += more;
    }

    /** Adds the counts of another object, which ends or is summed up. */
    public void addAll(Counters from) {
        for (int i = 0; i < values.length; i++) {
            values[i] += from.values[i];
        }
    }

    /** Returns the counters of a device by name, in the order of {@link Counter}. */
    public Map<String, Long> ofDevice() {
        return Collections.unmodifiableMap(named(false));
    }

    /**
     * Returns the counters that a queue pair has, by name, and the rate to which congestion reduced it.
     *
     * @param kbps kilobits a second; 0 if it is not reduced
     */
    public Map<String, Long> ofQueuePair(long kbps) {
        Map<String, Long> named = named(true);
        named.put("rp_rate_kbps", kbps);
        return Collections.unmodifiableMap(named);
    }

    private Map<String, Long> named(boolean queuePairs) {
        var named = new LinkedHashMap<String, Long>();
        for (Counter counter : Counter.ALL) {
            if (!queuePairs || counter.isOfQueuePairs) {
                named.put(counter.sysfsName, values[counter.ordinal()]);
            }
        }
        return named;
    }
}
