package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;

/**
 * What {@code ibv_create_cq_ex} asks of a completion queue. A queue that is for one thread keeps the device's lock.
 *
 * @param isStamped whether its completions have timestamps or tags
 * @param ignoresOverrun whether a full queue loses completions and stays usable
 * @param domain the parent domain that the queue counts in, or null for none
 */
public record CqOptions(boolean isStamped, boolean ignoresOverrun, @Nullable Pd domain) {

    /** The options of a queue of {@code ibv_create_cq}. */
    public static final CqOptions NONE = new CqOptions(false, false, null);
}
