package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.RMPPStatus

/**
 * A request or its answer is longer than a datagram, and was not carried to its end: the peer or this side gave up.
 *
 * @property status why, for example that one of them has no memory for it
 */
public class MadTransferException internal constructor(
    request: ByteArray,
    path: MadPath,
    public val status: RMPPStatus,
) : MadException(
        "the long message between here and $path for ${MadText.of(request)} was given up with the status $status",
        request,
        null,
        path,
        "RPC ${MadText.of(request)} was given up by RMPP status $status",
    )
