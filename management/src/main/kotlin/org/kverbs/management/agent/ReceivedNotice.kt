package org.kverbs.management.agent

import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Notice
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.structures.described
import org.kverbs.structures.Structure

/**
 * A trap that a port sent, or a report of one that the subnet administrator forwarded.
 *
 * @property notice what happened. Subnet management sends no GID of the issuer; it is zero then.
 * @property mgmtClass the management class
 * @property from the path to the sender
 */
public class ReceivedNotice internal constructor(
    public val notice: Notice,
    public val mgmtClass: ManagementClass,
    public val from: MadPath,
) {
    /** The number of the trap, or null for one of a vendor. */
    public val trap: TrapNumber? get() = if (notice.isGeneric) TrapNumber.of(notice.trapNumberDeviceID) else null

    /** The details by the trap's structure, or null if none is known. Its fields go by their names. */
    public val details: Structure?
        get() {
            val choice = described.choices.first { it.name == choiceName() }
            val structure = trap?.let { choice.cases[it.value.toLong()] } ?: return null
            return described.type(structure.name).of(notice.dataDetails.copyOf(structure.byteSize))
        }

    private fun choiceName() =
        when (mgmtClass) {
            ManagementClass.BM -> "BMTrapDetails"
            ManagementClass.CONGESTION_CONTROL -> "CCTrapDetails"
            else -> "TrapDetails"
        }

    /** Returns what happened, where, and the details, in one line. */
    public fun describe(): String {
        val what = trap?.toString() ?: "vendor ${notice.producerTypeVendorID} device ${notice.trapNumberDeviceID}"
        return "${notice.type} $what from LID ${notice.issuerLID}" + (details?.let { ": $it" } ?: "")
    }

    /** Returns what [describe] returns. */
    override fun toString(): String = describe()
}
