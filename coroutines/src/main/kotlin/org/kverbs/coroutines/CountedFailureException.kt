package org.kverbs.coroutines

import org.kverbs.RdmaException

/** Operations failed that a completion counter counts, so that a wait for its value could last for ever. */
public class CountedFailureException internal constructor(
    counter: String,
    /** The number of operations that failed during the wait. */
    public val failures: Long,
) : RdmaException(
        "$failures operations failed that the $counter counts: look at the completions of its queue pairs for the " +
            "reason",
    )
