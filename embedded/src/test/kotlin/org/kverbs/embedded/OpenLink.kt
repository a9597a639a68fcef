package org.kverbs.embedded

import org.kverbs.embedded.internal.objects.PacketPort

/** A link that leads everywhere, one packet of the path MTU at a time; what becomes of them is a spec's. */
internal abstract class OpenLink(
    private val window: Int,
) : PacketPort {
    override fun open() = 0

    override fun leadsTo(
        gidHigh: Long,
        gidLow: Long,
    ) = true

    override fun isUsualTo(
        gidHigh: Long,
        gidLow: Long,
    ) = true

    override fun carriesWholeMessages() = false

    override fun window() = window

    override fun look(waits: Boolean) = Unit

    override fun joinGroup(
        gidHigh: Long,
        gidLow: Long,
    ) = 0

    override fun leaveGroup(
        gidHigh: Long,
        gidLow: Long,
    ) = Unit

    override fun close() = Unit
}
