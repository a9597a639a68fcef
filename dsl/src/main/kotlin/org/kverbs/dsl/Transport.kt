package org.kverbs.dsl

import org.kverbs.attributes.QueuePairType

/** A transport by its short name, which knows at compile time what it can do: [RC], [UC] or [UD]. */
public sealed class Transport<out V : Verbs>(
    /** The transport as the core names it. */
    public val type: QueuePairType,
)

/** Reliable connection: every operation, in order, acknowledged (IBV_QPT_RC). */
public data object RC : Transport<RcVerbs>(QueuePairType.RC)

/** Unreliable connection: messages and writes that may be lost (IBV_QPT_UC). */
public data object UC : Transport<UcVerbs>(QueuePairType.UC)

/** Unreliable datagram: messages of at most an MTU to any address (IBV_QPT_UD). */
public data object UD : Transport<UdVerbs>(QueuePairType.UD)
