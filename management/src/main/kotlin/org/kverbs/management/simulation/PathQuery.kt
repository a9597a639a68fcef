package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.MultiPathRecord
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.Selector

private const val MOST_PAIRS = 1_000_000L
private val ENDS = setOf("dgid", "sgid", "dlid", "slid")
private val CHOSEN = setOf("mtu", "mtuSelector", "rate", "rateSelector", "packetLifeTime", "packetLifeTimeSelector")

private val COMPARED = listOf("pKey", "qosClass", "sl", "rawTraffic")

/** Questions for paths: PathRecord and MultiPathRecord. */
internal class PathQuery(
    private val network: Network,
    private val manager: SubnetManager,
) {
    private val finder = PathFinder(network)

    fun find(question: Question): Found {
        val wanted = PathRecord.of(question.data(PathRecord.byteSize))
        val matching = Matching(PathRecord.components, question.mask, wanted.bytes())
        val sources = ends(matching, wanted.sgid, wanted.slid.value, "sgid", "slid")
        val targets = ends(matching, wanted.dgid, wanted.dlid.value, "dgid", "dlid")
        if (sources.size.toLong() * targets.size > MOST_PAIRS) {
            return Found(emptyList(), Administration.INSUFFICIENT_COMPONENTS)
        }
        val ignored = ENDS + CHOSEN + "numbPath" + "reversible" + "serviceID" + "hopLimit" + "flowLabel" + "tClass"
        val paths =
            sources
                .asSequence()
                .flatMap { from -> targets.asSequence().mapNotNull { to -> finder.path(from, to) } }
                .onEach { path -> echo(path, wanted, matching) }
                .filter { path -> matching.matches(path, ignored) && isGoodEnough(path, wanted, matching) }
        return Found(paths.toList())
    }

    /** The nodes on the first path that matches. The question is one for paths, and names both ends. */
    fun trace(question: Question): Found {
        val wanted = PathRecord.of(question.data(PathRecord.byteSize))
        val matching = Matching(PathRecord.components, question.mask, wanted.bytes())
        val hasEnds = (matching.has("sgid") || matching.has("slid")) && (matching.has("dgid") || matching.has("dlid"))
        if (!hasEnds) return Found(emptyList(), Administration.INSUFFICIENT_COMPONENTS)
        val found = find(question)
        val path = found.records.firstOrNull() as PathRecord? ?: return found
        val from = manager.subnet.port(path.slid.value)
        val to = manager.subnet.port(path.dlid.value)
        return Found(if (from == null || to == null) emptyList() else finder.trace(from, to).orEmpty())
    }

    /** The ports that a GID, a LID, both or neither stand for. */
    private fun ends(
        matching: Matching,
        gid: Gid,
        lid: Int,
        gidName: String,
        lidName: String,
    ): List<Int> {
        val hasGid = matching.has(gidName)
        val all = if (matching.has(lidName)) listOfNotNull(manager.subnet.port(lid)) else null
        return when {
            hasGid -> (all ?: manager.subnet.ports()).filter { finder.gid(it) == gid }
            else -> all ?: manager.subnet.ports()
        }
    }

    /** What the asking program chooses itself comes back as it was. */
    private fun echo(
        path: PathRecord,
        wanted: PathRecord,
        matching: Matching,
    ) {
        if (matching.has("serviceID")) path.serviceID = wanted.serviceID
        if (matching.has("flowLabel")) path.flowLabel = wanted.flowLabel
        if (matching.has("tClass")) path.tClass = wanted.tClass
    }

    private fun isGoodEnough(
        path: PathRecord,
        wanted: PathRecord,
        matching: Matching,
    ): Boolean =
        isChosen(matching, "mtu", wanted.mtuSelector, path.mtu.value, wanted.mtu.value) &&
            isChosen(
                matching,
                "rate",
                wanted.rateSelector,
                LinkRates.ofCode(path.rate.value),
                LinkRates.ofCode(wanted.rate.value),
            ) &&
            isChosen(
                matching,
                "packetLifeTime",
                wanted.packetLifeTimeSelector,
                path.packetLifeTime,
                wanted.packetLifeTime,
            )

    private fun isChosen(
        matching: Matching,
        name: String,
        selector: Selector,
        value: Int,
        wanted: Int,
    ): Boolean =
        !matching.has(name) ||
            !matching.has("${name}Selector") ||
            when (selector) {
                Selector.GREATER_THAN -> value > wanted
                Selector.LESS_THAN -> value < wanted
                Selector.EXACTLY -> value == wanted
                else -> true
            }

    /** Paths between all ports of two lists: `numbPath` of them at most, and those that are as the query wants them. */
    fun findMany(question: Question): Found {
        val head = MultiPathRecord.of(question.data(MultiPathRecord.byteSize))
        val matching = Matching(MultiPathRecord.components, question.mask, head.bytes())
        val count = head.sgidCount + head.dgidCount
        val gids = question.data(GIDS_AT + count * GID_SIZE)
        val ends = manager.subnet.ports().associateBy(finder::gid)
        val ports =
            List(count) { index ->
                val at = GIDS_AT + index * GID_SIZE
                ends[Gid.of(gids.copyOfRange(at, at + GID_SIZE))]
                    ?: return Found(emptyList(), Administration.INVALID_GID)
            }
        val wanted = wanted(head)
        val targets = ports.drop(head.sgidCount)
        val paths =
            ports
                .take(head.sgidCount)
                .asSequence()
                .flatMap { from -> targets.asSequence().mapNotNull { to -> finder.path(from, to) } }
                .onEach { path -> echo(path, wanted, matching) }
                .filter { path -> isEqual(path, wanted, matching) && isGoodEnough(path, wanted, matching) }
        return Found(paths.take(if (matching.has("numbPath")) head.numbPath else Int.MAX_VALUE).toList())
    }

    /** What a question for many paths wants of each of them. */
    private fun wanted(head: MultiPathRecord) =
        PathRecord {
            flowLabel = head.flowLabel
            tClass = head.tClass
            pKey = head.pKey
            qosClass = head.qosClass
            sl = head.sl
            rawTraffic = head.rawTraffic
            mtuSelector = head.mtuSelector
            mtu = head.mtu
            rateSelector = head.rateSelector
            rate = head.rate
            packetLifeTimeSelector = head.packetLifeTimeSelector
            packetLifeTime = head.packetLifeTime
        }

    private fun isEqual(
        path: PathRecord,
        wanted: PathRecord,
        matching: Matching,
    ): Boolean = COMPARED.all { !matching.has(it) || path[it] == wanted[it] }

    private companion object {
        const val GIDS_AT = 24
        const val GID_SIZE = 16
    }
}
