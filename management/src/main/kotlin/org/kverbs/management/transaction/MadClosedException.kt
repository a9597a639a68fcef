package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath

/** The transactor was closed while a transaction waited. Whether the request was carried out is not known. */
public class MadClosedException internal constructor(
    request: ByteArray,
    path: MadPath,
) : MadException(
        "closed before $path answered ${MadText.of(request)}: end what asks before the fabric is closed",
        request,
        null,
        path,
        "RPC ${MadText.of(request)} ended because the fabric was closed",
    )
