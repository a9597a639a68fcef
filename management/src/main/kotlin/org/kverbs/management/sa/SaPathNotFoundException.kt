package org.kverbs.management.sa

import org.kverbs.management.path.MadPath
import org.kverbs.management.transaction.MadException

/** The subnet administrator knows no path to a port: no such port is in the subnet, or partitions keep it apart. */
public class SaPathNotFoundException internal constructor(
    what: String,
    request: ByteArray,
    reply: ByteArray?,
    path: MadPath,
    rpc: String,
) : MadException(
        "the subnet administrator knows no path to $what: see that the port is up and in a partition of this one",
        request,
        reply,
        path,
        rpc,
    )
