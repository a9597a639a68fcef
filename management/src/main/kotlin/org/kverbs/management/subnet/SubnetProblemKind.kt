package org.kverbs.management.subnet

/** What is wrong with a part of a subnet. */
public enum class SubnetProblemKind {
    /** A node or port did not answer; it was passed over. */
    NO_ANSWER,

    /** A node answered a question with an error. */
    REFUSED,

    /** An answer cannot be true, such as a node without ports. */
    MALFORMED,

    /** Two nodes have the same GUID, so that one of them, and what is behind it, is missing. */
    DUPLICATE_GUID,

    /** A port leads to a second one, but the second one leads to a third. */
    ASYMMETRIC_LINK,

    /** A port is connected with its own node. */
    LOOP,

    /** A node is behind more links than a directed path has. */
    TOO_FAR,

    /** The discovery stopped at its limit; there is more. */
    LIMIT,

    /** The program stopped the discovery before its end; there is more. */
    STOPPED,
}
