package org.kverbs.dsl

import org.kverbs.attributes.QueuePairType

/**
 * A transport by its short name: [RC], [UC], [UD] or [XRC_SEND]. Its type argument is the set of its operations at
 * compile time.
 */
public sealed class Transport<out V : Verbs>(
    /** The same transport as a [QueuePairType]. */
    public val type: QueuePairType,
)

/** Reliable connection: it has every operation, in order and acknowledged (IBV_QPT_RC). */
public data object RC : Transport<RcVerbs>(QueuePairType.RC)

/**
 * The sending end of an extended reliable connection: it has the operations of [RC], each of which names a shared
 * receive queue of the peer, and receives nothing (IBV_QPT_XRC_SEND). The receiving end is an [org.kverbs.XrcReceiveQueuePair].
 */
@Suppress("ktlint:standard:class-naming") // the name that verbs.h gives it
public data object XRC_SEND : Transport<XrcVerbs>(QueuePairType.XRC_SEND)

/** Unreliable connection: it has messages and writes, which can be lost (IBV_QPT_UC). */
public data object UC : Transport<UcVerbs>(QueuePairType.UC)

/** Unreliable datagram: it has messages of at most one MTU to any address (IBV_QPT_UD). */
public data object UD : Transport<UdVerbs>(QueuePairType.UD)
