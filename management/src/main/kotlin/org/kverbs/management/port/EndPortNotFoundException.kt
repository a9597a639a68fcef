package org.kverbs.management.port

import org.kverbs.RdmaException

/** No end port of this machine is the one that was asked for. The message names what was looked for. */
public class EndPortNotFoundException internal constructor(
    message: String,
) : RdmaException(message)
