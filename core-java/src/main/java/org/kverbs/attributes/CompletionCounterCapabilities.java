package org.kverbs.attributes;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * The limits of completion counters: {@code struct ibv_comp_cntr_caps}.
 *
 * @param maxValue the highest value of a counter, unsigned
 * @param maxCounters how many counters the device has, unsigned
 * @param operations what a counter can count
 */
public record CompletionCounterCapabilities(long maxValue, int maxCounters, Set<CountedOperation> operations) {

    /** Copies the set. */
    public CompletionCounterCapabilities {
        var copy = EnumSet.noneOf(CountedOperation.class);
        copy.addAll(operations);
        operations = Collections.unmodifiableSet(copy);
    }
}
