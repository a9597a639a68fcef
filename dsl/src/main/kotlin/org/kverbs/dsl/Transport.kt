package org.kverbs.dsl

import org.kverbs.attributes.QueuePairType

/**
 * A transport by its short name: [RC], [UC] or [UD]. Its type argument is the set of its operations at compile time.
 */
public sealed class Transport<out V : Verbs>(
    /** The same transport as a [QueuePairType]. */
    public val type: QueuePairType,
)

/** Reliable connection: it has every operation, in order and acknowledged (IBV_QPT_RC). */
public data object RC : Transport<RcVerbs>(QueuePairType.RC)

/** Unreliable connection: it has messages and writes, which can be lost (IBV_QPT_UC). */
public data object UC : Transport<UcVerbs>(QueuePairType.UC)

/** Unreliable datagram: it has messages of at most one MTU to any address (IBV_QPT_UD). */
public data object UD : Transport<UdVerbs>(QueuePairType.UD)
