package org.kverbs.ibtool.records

import org.kverbs.management.sa.SubnetAdministration
import org.kverbs.management.structures.GuidInfoRecord
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.LinearForwardingTableRecord
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.MulticastForwardingTableRecord
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PKeyTableRecord
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.SLtoVLMappingTableRecord
import org.kverbs.management.structures.SMInfoRecord
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.structures.SwitchInfoRecord
import org.kverbs.management.structures.VLArbitrationTableRecord
import org.kverbs.structures.Structure

/**
 * A kind of record that `saquery` asks for, by the names that it has there.
 *
 * @property title the name of the query
 * @property alias the short name
 * @property places the fields that each argument gives, separated by `/`
 */
internal enum class RecordKind(
    val title: String,
    val alias: String,
    val places: List<List<String>>,
    private val question: suspend (SubnetAdministration, Structure.() -> Unit) -> List<Structure>,
) {
    NODE("NodeRecord", "NR", at("lid"), { sa, fields -> sa.records<NodeRecord>(fields) }),
    PORT_INFO(
        "PortInfoRecord",
        "PIR",
        at("endportLID/portNum/options"),
        { sa, fields -> sa.records<PortInfoRecord>(fields) },
    ),
    LANES(
        "SL2VLTableRecord",
        "SL2VL",
        at("lid/inputPortNum/outputPortNum"),
        { sa, fields -> sa.records<SLtoVLMappingTableRecord>(fields) },
    ),
    KEYS("PKeyTableRecord", "PKTR", at("lid/portNum/blockNum"), { sa, fields -> sa.records<PKeyTableRecord>(fields) }),
    ARBITRATION(
        "VLArbitrationTableRecord",
        "VLAR",
        at("lid/outputPortNum/blockNum"),
        { sa, fields -> sa.records<VLArbitrationTableRecord>(fields) },
    ),
    INFORM("InformInfoRecord", "IIR", at("subscriberGID"), { sa, fields -> sa.records<InformInfoRecord>(fields) }),
    LINK("LinkRecord", "LR", at("fromLID/fromPort", "toLID/toPort"), { sa, fields -> sa.records<LinkRecord>(fields) }),
    SERVICE("ServiceRecord", "SR", at(), { sa, fields -> sa.records<ServiceRecord>(fields) }),
    PATH("PathRecord", "PR", at(), { sa, fields -> sa.records<PathRecord>(fields) }),
    MEMBER("MCMemberRecord", "MCMR", at(), { sa, fields -> sa.records<MCMemberRecord>(fields) }),
    LINEAR("LFTRecord", "LFTR", at("lid/blockNum"), { sa, fields -> sa.records<LinearForwardingTableRecord>(fields) }),
    MULTICAST(
        "MFTRecord",
        "MFTR",
        at("lid/position/blockNum"),
        { sa, fields -> sa.records<MulticastForwardingTableRecord>(fields) },
    ),
    GUIDS("GUIDInfoRecord", "GIR", at("lid/blockNum"), { sa, fields -> sa.records<GuidInfoRecord>(fields) }),
    SWITCH("SwitchInfoRecord", "SWIR", at("lid"), { sa, fields -> sa.records<SwitchInfoRecord>(fields) }),
    MANAGER("SMInfoRecord", "SMIR", at("lid"), { sa, fields -> sa.records<SMInfoRecord>(fields) }),
    ;

    /** Asks for the records whose fields are as [assign] makes them. */
    suspend fun ask(
        sa: SubnetAdministration,
        assign: Structure.() -> Unit,
    ): List<Structure> = question(sa, assign)

    companion object {
        /** The kind with this name or short name, in any case; or null. */
        fun of(name: String): RecordKind? =
            entries.firstOrNull { it.title.equals(name, ignoreCase = true) || it.alias.equals(name, ignoreCase = true) }
    }
}

private fun at(vararg places: String): List<List<String>> = places.map { it.split('/') }
