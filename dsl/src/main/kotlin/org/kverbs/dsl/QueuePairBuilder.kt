package org.kverbs.dsl

import org.kverbs.QueuePairInitAttributes
import org.kverbs.attributes.QueuePairType

/** Builds a queue pair whose type is set inside the block. Valid only inside its block. */
@RdmaDsl
public class QueuePairBuilder internal constructor() : QueuePairSettings() {
    private var type: QueuePairType? = null

    /** Sets the transport: `type(RC)`. Required. */
    public fun type(transport: Transport<*>) {
        type = transport.type
    }

    /** Sets the transport by its [QueuePairType], for types that have no short name. Required. */
    public fun type(type: QueuePairType) {
        this.type = type
    }

    internal fun build(): QueuePairInitAttributes =
        build(
            requireNotNull(type) {
                "type is missing: say type(RC), type(UC), type(UD) or type(XRC_SEND)"
            },
        )
}
