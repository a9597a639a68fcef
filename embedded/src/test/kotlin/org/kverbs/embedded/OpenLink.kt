package org.kverbs.embedded

import org.kverbs.embedded.internal.objects.PacketPort

/** A link that leads everywhere, with packets of at most the path MTU; a spec decides their fate. */
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

    override fun catchUp() = true

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
