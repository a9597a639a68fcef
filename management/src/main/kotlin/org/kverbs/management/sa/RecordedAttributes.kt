package org.kverbs.management.sa

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.LinkRecord
import org.kverbs.management.transaction.MadClassException
import org.kverbs.management.transport.MadPort
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureType
import org.kverbs.structures.TakesGet
import org.kverbs.structures.structureTypeOf
import java.util.concurrent.ConcurrentHashMap

private const val PORT_BITS = 8

/**
 * Answers the questions that nodes answer, from the records of the subnet administrator. It asks no node, and needs no
 * right to send subnet management packets.
 *
 * ```
 * val records = fabric.byRecords()
 * val port = records.get<PortInfo>(directed(0, 1), 3)
 * ```
 *
 * The attributes are NodeInfo, NodeDescription, PortInfo, SwitchInfo, SMInfo, GUIDInfo, LinearForwardingTable,
 * MulticastForwardingTable, PKeyTable, SLtoVLMappingTable and VLArbitrationTable. Paths and modifiers are those of
 * `Fabric.get`. A record is as old as the last sweep of the subnet manager, and shows no management key.
 *
 * A block of a forwarding table, of partition keys, of lanes or of weights that the administrator has no record of is
 * empty: port 255, which means none, in a LinearForwardingTable, and zeros in the others.
 * So is a block of GUIDs but the first. `localPortNum` of a switch that is asked by its LID is the port at which the
 * subnet manager's question arrived.
 *
 * A directed path leads over the links that the administrator knows. Each link is asked for once; [forget] makes the
 * next question ask anew.
 *
 * Threads and cancellation are those of [SubnetAdministration]. Programs get one from `Fabric.byRecords`.
 */
public class RecordedAttributes internal constructor(
    internal val sa: SubnetAdministration,
    private val port: () -> MadPort,
) {
    private val links = ConcurrentHashMap<Int, RecordedPlace>()
    private val queries = RecordQueries(sa)

    /** Returns whether a record repeats the attributes of [type], so that [get] answers with them. */
    public fun has(type: StructureType<*>): Boolean = type in recordedTypes

    /**
     * Asks for an attribute.
     *
     * @param path the port to ask for
     * @param modifier the attribute modifier, such as a port's number for `PortInfo`
     * @return the attribute, in memory of its own
     * @throws org.kverbs.management.transaction.MadException if the administrator does not answer, or has no record
     * @throws org.kverbs.management.transport.MadTransportException if the port knows no subnet manager
     * @throws IllegalArgumentException if no record repeats the attribute, or the modifier names no part of a record
     */
    public suspend inline fun <reified S> get(
        path: MadPath,
        modifier: Int = 0,
    ): S where S : Structure, S : TakesGet = get(structureTypeOf<S>(), path, modifier)

    /** Asks for an attribute whose type is a value. */
    public suspend fun <S> get(
        type: StructureType<S>,
        path: MadPath,
        modifier: Int = 0,
    ): S where S : Structure, S : TakesGet = type.of(queries.ask(type, place(path), modifier).bytes())

    /**
     * Returns the LID of the port at the end of a directed path.
     *
     * @throws org.kverbs.management.transaction.MadException if the administrator does not answer, or if it knows no
     *   link for a hop
     */
    public suspend fun lid(path: DirectedPath): Lid = place(path).lid

    /** Forgets the links and the kinds of nodes that were asked for. */
    public fun forget() {
        links.clear()
        queries.forget()
    }

    private suspend fun place(path: MadPath): RecordedPlace =
        when (path) {
            is LidPath -> RecordedPlace(path.destination, null)
            is DirectedPath -> path.hops.drop(1).fold(RecordedPlace(port().info.lid, null)) { at, hop -> next(at, hop) }
        }

    private suspend fun next(
        from: RecordedPlace,
        hop: Int,
    ): RecordedPlace {
        val key = (from.lid.value shl PORT_BITS) or hop
        return links[key] ?: link(from.lid, hop).also { links[key] = it }
    }

    private suspend fun link(
        from: Lid,
        hop: Int,
    ): RecordedPlace {
        val record =
            try {
                sa.get<LinkRecord> {
                    fromLID = from
                    fromPort = hop
                }
            } catch (e: MadClassException) {
                throw e.within("Failed getting the link of port $hop of LID $from.")
            }
        return RecordedPlace(record.toLID, record.toPort)
    }
}

/**
 * A port that is asked for.
 *
 * @property lid the LID that records have for it
 * @property arrival the port of the node at which a directed path arrives; null if the path does not say it
 */
internal class RecordedPlace(
    val lid: Lid,
    val arrival: Int?,
)
