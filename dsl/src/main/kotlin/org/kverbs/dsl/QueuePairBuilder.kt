package org.kverbs.dsl

import org.kverbs.QueuePairInitAttributes
import org.kverbs.attributes.QueuePairType

/** Builds a queue pair whose type is chosen inside the block. */
@RdmaDsl
public class QueuePairBuilder internal constructor() : QueuePairSettings() {
    private var type: QueuePairType? = null

    /** The transport: `type(RC)`; required. */
    public fun type(transport: Transport<*>) {
        type = transport.type
    }

    /** The transport by the core's name, for those without a short one. */
    public fun type(type: QueuePairType) {
        this.type = type
    }

    internal fun build(): QueuePairInitAttributes =
        build(
            requireNotNull(type) {
                "type is missing: say type(RC), type(UC) or type(UD)"
            },
        )
}
