package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.FlowCounters
import org.kverbs.attributes.FlowCounter

/**
 * Makes counters of flow rules: `device.flowCounters { count(PACKETS, BYTES) }` (ibv_create_counters). A rule names
 * them by `count(counters)`. Errors as [Context.flowCounters] and [FlowCounters.attach].
 */
public fun Context.flowCounters(block: FlowCountersBuilder.() -> Unit): FlowCounters =
    flowCounters().closingOnFailure { it.also { FlowCountersBuilder(it).block() } }

/** Builds the counters of flow rules. Valid only inside its block. */
@RdmaDsl
public class FlowCountersBuilder internal constructor(
    private val counters: FlowCounters,
) {
    private var next = 0

    /** Counts these, in the order of their values in [FlowCounters.read]; a second call adds further ones. */
    public fun count(vararg counters: FlowCounter) {
        counters.forEach { this.counters.attach(it, next++) }
    }
}
