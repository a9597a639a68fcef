package org.kverbs.ibtool.records

import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.GuidInfoRecord
import org.kverbs.management.structures.LinearForwardingTableRecord
import org.kverbs.management.structures.MulticastForwardingTableRecord
import org.kverbs.management.structures.PKeyTableRecord
import org.kverbs.management.structures.SLtoVLMappingTableRecord
import org.kverbs.management.structures.VLArbitrationTableRecord
import org.kverbs.structures.Structure

private const val COLUMN = 27
private const val LANES = 16
private const val KEYS_A_LINE = 8
private const val LINEAR_BLOCK = 64
private const val MULTICAST_BLOCK = 32
private const val FIRST_MULTICAST = 0xc000

/** Records of tables in the form of `saquery`. */
internal object TableText {
    /** The lines of a record; null if it is not of a table. */
    fun of(record: Structure): String? =
        when (record) {
            is SLtoVLMappingTableRecord -> lanes(record)
            is VLArbitrationTableRecord -> arbitration(record)
            is PKeyTableRecord -> keys(record)
            is LinearForwardingTableRecord -> linear(record)
            is MulticastForwardingTableRecord -> multicast(record)
            is GuidInfoRecord -> guids(record)
            else -> null
        }

    private fun lanes(record: SLtoVLMappingTableRecord): String {
        val table = record.slToVLMappingTable.bytes()
        val levels = (0 until LANES).joinToString("") { "%2d|".with(it) }
        val lanes =
            table.take(LANES / 2).joinToString("") { "%2d|%2d|".with(it.toInt() shr 4 and 0xf, it.toInt() and 0xf) }
        return Rows("SL2VLTableRecord dump:", COLUMN)
            .row("LID", record.lid.value)
            .row("InPort", record.inputPortNum)
            .row("OutPort", record.outputPortNum)
            .line("SL:$levels")
            .line("VL:$lanes")
            .toString()
    }

    private fun arbitration(record: VLArbitrationTableRecord): String {
        val rows =
            Rows("VLArbTableRecord dump:", COLUMN)
                .row("LID", record.lid.value)
                .row("Port", record.outputPortNum)
                .row("Block", record.blockNum)
        // An entry is a lane, in the low half of its byte, and its weight.
        for (line in record.vlArbitrationTable.bytes().toList().chunked(2 * LANES)) {
            val entries = line.chunked(2)
            rows.line("VL    :" + entries.joinToString("") { "%2d|".with(it[0].toInt() and 0xf) })
            rows.line("Weight:" + entries.joinToString("") { "%2d|".with(it[1].toInt() and 0xff) })
        }
        return rows.toString()
    }

    private fun keys(record: PKeyTableRecord): String {
        val rows =
            Rows("PKeyTableRecord dump:", COLUMN)
                .row("LID", record.lid.value)
                .row("Port", record.portNum)
                .row("Block", record.blockNum)
                .line("PKey Table:")
        val table = record.pKeyTable
        for (line in (0 until table.structureType.byteSize / 2).chunked(KEYS_A_LINE)) {
            rows.line(line.joinToString(" ") { "0x%04x".with(table.raw(2 * it, 2)) })
        }
        return rows.line("", "").toString()
    }

    private fun linear(record: LinearForwardingTableRecord): String {
        val rows =
            Rows("LFT Record dump:", COLUMN)
                .row("LID", record.lid.value)
                .row("Block", record.blockNum)
                .line("LFT:")
                .line("LID\tPort Number")
        record.linearForwardingTable.bytes().forEachIndexed { index, port ->
            rows.line("${record.blockNum * LINEAR_BLOCK + index}\t${port.toInt() and 0xff}")
        }
        return rows.line("", "").toString()
    }

    private fun multicast(record: MulticastForwardingTableRecord): String {
        val rows =
            Rows("MFT Record dump:", COLUMN)
                .row("LID", record.lid.value)
                .row("Position", record.position)
                .row("Block", record.blockNum)
                .line("MFT:")
                .line("MLID\tPort Mask")
        val first = FIRST_MULTICAST + record.blockNum * MULTICAST_BLOCK
        for (index in 0 until MULTICAST_BLOCK) {
            val ports = record.multicastForwardingTable.raw(2 * index, 2)
            rows.line("0x%04x\t0x%04x".with(first + index, ports))
        }
        return rows.line("", "").toString()
    }

    private fun guids(record: GuidInfoRecord): String {
        val rows =
            Rows("GUIDInfo Record dump:", COLUMN)
                .row("LID", record.lid.value)
                .row("Block", record.blockNum)
        for (index in 0 until record.guidInfo.structureType.byteSize / Long.SIZE_BYTES) {
            rows.row("GUID $index", long(record.guidInfo.raw(Long.SIZE_BYTES * index, Long.SIZE_BYTES)))
        }
        return rows.toString()
    }
}
