package org.kverbs.ibtool.session

import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadTransport
import org.kverbs.structures.Lid
import org.kverbs.structures.copy

/**
 * A transport whose port knows the subnet manager at the LID of `--sm_port`, so that the subnet administrator is asked
 * there. Without a LID it is the transport itself.
 */
internal fun MadTransport.managedAt(lid: Int?): MadTransport = if (lid == null) this else ManagedAt(this, Lid(lid))

private class ManagedAt(
    private val inner: MadTransport,
    private val manager: Lid,
) : MadTransport by inner {
    override fun port(): MadPort =
        inner.port().let { MadPort(it.name, it.node, it.info.copy { masterSMLID = manager }) }
}
