package org.kverbs.ibtool.records

import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.structures.Structure
import org.kverbs.structures.dotted

private const val COLUMN = 24
private const val HIDDEN = "<not displayed>"

/** Services and subscriptions in the form of `saquery`; any other structure in libibmad's. */
internal class ServiceText(
    private val showsKeys: Boolean,
) {
    /** The lines of a record. */
    fun of(record: Structure): String =
        when (record) {
            is ServiceRecord -> service(record)
            is InformInfoRecord -> inform(record)
            else -> record.dotted()
        }

    private fun service(record: ServiceRecord): String {
        val rows =
            Rows("ServiceRecord dump:", COLUMN)
                .row("ServiceID", long(record.serviceID))
                .row("ServiceGID", record.serviceGID.toCompactString())
                .row("ServiceP_Key", upper(record.raw("servicePKey", 2)))
                .row("ServiceLease", upper(record.raw("serviceLease", 4)))
                .row("ServiceKey", "0x" + record.serviceKey.toHexString())
                .row("ServiceName", printable(record.serviceName))
        for (number in 1..16) rows.row("ServiceData8.$number", upper(record.serviceData8[number - 1]))
        for (number in 1..8) rows.row("ServiceData16.$number", upper(record.serviceData16[number - 1]))
        for (number in 1..4) rows.row("ServiceData32.$number", upper(record.serviceData32[number - 1]))
        for (number in 1..2) rows.row("ServiceData64.$number", long(record.serviceData64[number - 1]))
        return rows.toString()
    }

    private fun inform(record: InformInfoRecord): String {
        val rows =
            Rows("InformInfoRecord dump:", COLUMN)
                .line("RID", "\t")
                .row("SubscriberGID", record.subscriberGID.toCompactString())
                .row("SubscriberEnum", upper(record.raw("enum", 2)))
                .line("InformInfo dump:")
        of(record.informInfo, rows)
        return rows.toString()
    }

    private fun of(
        info: InformInfo,
        rows: Rows,
    ) {
        rows
            .row("gid", info.gid.toCompactString())
            .row("lid_range_begin", info.lidRangeBegin.value)
            .row("lid_range_end", info.lidRangeEnd.value)
            .row("is_generic", upper(info.isGeneric))
            .row("subscribe", upper(info.subscribe))
            .row("trap_type", upper(info.raw("type", 2)))
        if (info.isGeneric != 0) {
            rows.row("trap_num", info.raw("trapNumberDeviceID", 2))
        } else {
            rows.row("dev_id", upper(info.raw("trapNumberDeviceID", 2)))
        }
        rows
            .row("qpn", if (showsKeys) "0x%06X".with(info.qpn) else HIDDEN)
            .row("resp_time_val", upper(info.respTimeValue))
            .row(if (info.isGeneric != 0) "node_type" else "vendor_id", "0x%06X".with(info.producerTypeVendorID))
    }
}
