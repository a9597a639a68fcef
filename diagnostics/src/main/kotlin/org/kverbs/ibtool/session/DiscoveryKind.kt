package org.kverbs.ibtool.session

/** How a fabric is discovered. */
internal enum class DiscoveryKind {
    /** The nodes are asked by directed routes. */
    DR,

    /** The nodes are asked by LIDs; the subnet administrator tells these. */
    LID,

    /** The subnet administrator is asked, and no node. */
    SA,
}
