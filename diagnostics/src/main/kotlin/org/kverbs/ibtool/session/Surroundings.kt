package org.kverbs.ibtool.session

import org.kverbs.management.transport.MadTransport

/**
 * What a command may use of its process. A command that runs in another program, such as a spec, uses nothing of it.
 *
 * @property progress shows on the terminal how far long work is; null where standard error is no terminal
 * @property interrupt listens to Ctrl-C
 * @property between stands between the fabric and a command: a spec's fabric that lies
 */
internal class Surroundings(
    val progress: Progress? = null,
    val interrupt: Interrupt? = null,
    val between: (MadTransport) -> MadTransport = { it },
)
