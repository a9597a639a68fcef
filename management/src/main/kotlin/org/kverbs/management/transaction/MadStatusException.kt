package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath

/**
 * The answer says that the request was not carried out: its method, attribute or modifier is not supported there, the
 * port is still busy after all retries, or another port has to be asked. These are the statuses that all management
 * classes share.
 *
 * @property status the status of the answer, 15 bits
 */
public class MadStatusException internal constructor(
    request: ByteArray,
    reply: ByteArray,
    path: MadPath,
    public val status: Int,
) : MadException(
        "$path answered ${MadText.of(request)} with the status ${MadText.common(status)}",
        request,
        reply,
        path,
        "RPC ${MadText.of(request)} got error status ${MadText.common(status)}",
    )
