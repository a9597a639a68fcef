package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath

/** The answer has no error status, and yet is not what was asked for: its data are too short or do not fit together. */
public class MadReplyException internal constructor(
    request: ByteArray,
    reply: ByteArray,
    path: MadPath,
    what: String,
) : MadException(
        "$path answered ${MadText.of(request)} with data that cannot be read: $what",
        request,
        reply,
        path,
        "RPC ${MadText.of(request)} got a malformed reply: $what",
    )
