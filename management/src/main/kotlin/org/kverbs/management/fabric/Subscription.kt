package org.kverbs.management.fabric

import org.kverbs.attributes.Gid
import org.kverbs.management.agent.ReceivedNotice
import org.kverbs.management.sa.wants
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.transport.MadPort
import org.kverbs.structures.Lid

private const val ALL = 0xffff
private const val ALL_PRODUCERS = 0xffffff
private const val DEFAULT_RESPONSE = 18

/** What a port wants to be told by the subnet administrator: all traps, if [assign] says no less. */
internal fun informsOf(
    port: MadPort,
    assign: InformInfo.() -> Unit,
): InformInfo =
    InformInfo {
        gid = Gid(0, 0)
        lidRangeBegin = Lid(ALL)
        isGeneric = 1
        type = NoticeType.of(ALL)
        trapNumberDeviceID = ALL
        producerTypeVendorID = ALL_PRODUCERS
        qpn = 1
        respTimeValue = port.info.subnetTimeOut.takeIf { it > 0 } ?: DEFAULT_RESPONSE
        assign()
    }

/** The part of one collector in a subscription of this port to traps at the subnet administrator. */
internal class Subscription(
    private val subscribers: Subscribers,
    private val wanted: InformInfo,
) {
    private var isSubscribed = false

    suspend fun begin() {
        subscribers.begin(wanted)
        isSubscribed = true
    }

    /** Whether a notice is one of those that were asked for: the administrator can serve several subscriptions. */
    fun fits(received: ReceivedNotice): Boolean {
        val notice = received.notice
        return received.mgmtClass == ManagementClass.SUBN_ADM && (wanted.isGeneric == 1) == notice.isGeneric &&
            wanted.wants(notice.issuerLID, notice.type.value, notice.trapNumberDeviceID, notice.producerTypeVendorID)
    }

    suspend fun end() {
        if (isSubscribed) subscribers.end(wanted)
    }
}
