package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.MCJoinState
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.MCScope
import org.kverbs.management.structures.Selector
import org.kverbs.management.structures.TrapNumber
import org.kverbs.structures.Lid
import org.kverbs.structures.copy

/** The multicast groups and their members. The forwarding tables lead each group over one tree of switches. */
internal class MulticastGroups(
    private val network: Network,
    private val manager: SubnetManager,
    private val changed: (TrapNumber, Gid) -> Unit,
) {
    private class Group(
        val record: MCMemberRecord,
    ) {
        val members = LinkedHashMap<Gid, Int>()
    }

    private val groups = LinkedHashMap<Gid, Group>()
    private val finder = PathFinder(network)
    private val trees = MulticastTrees(network)

    fun serve(question: Question): Found {
        val wanted = MCMemberRecord.of(question.data(MCMemberRecord.byteSize))
        val matching = Matching(MCMemberRecord.components, question.mask, wanted.bytes())
        return when {
            question.isSet -> join(wanted, matching)
            question.isDelete -> leave(wanted)
            else -> find(matching)
        }
    }

    private fun find(matching: Matching): Found {
        // A query by port returns members, any other query returns groups.
        val isOfMembers = matching.has("portGID")
        val records =
            groups.values.flatMap { group ->
                if (isOfMembers) {
                    group.members.map { (gid, state) -> member(group, gid, state) }
                } else {
                    listOf(group.record)
                }
            }
        return Found(records.filter { matching.matches(it, SELECTORS) })
    }

    private fun member(
        group: Group,
        gid: Gid,
        state: Int,
    ) = group.record.copy {
        portGID = gid
        joinState = MCJoinState.of(state)
    }

    private fun join(
        wanted: MCMemberRecord,
        matching: Matching,
    ): Found {
        val port = portOf(wanted.portGID)
        val state = wanted.joinState.value
        val group = groups[wanted.mgid]
        return when {
            port == null -> Found(emptyList(), Administration.INVALID_GID)
            state == 0 -> Found(emptyList(), Administration.REQUEST_INVALID)
            group != null -> enter(group, wanted, state)
            NEEDED.any { !matching.has(it) } -> Found(emptyList(), Administration.INSUFFICIENT_COMPONENTS)
            state and FULL_MEMBER == 0 -> Found(emptyList(), Administration.REQUEST_INVALID)
            else -> create(wanted, state)
        }
    }

    private fun create(
        wanted: MCMemberRecord,
        state: Int,
    ): Found {
        val used = groups.values.map { it.record.mlid.value }.toSet()
        val mlid = (FIRST_MLID until FIRST_MLID + SwitchTables.MULTICAST_CAPACITY).firstOrNull { it !in used }
        mlid ?: return Found(emptyList(), NO_RESOURCES)
        val group =
            Group(
                wanted.copy {
                    if (mgid == Gid(0, 0)) mgid = Gid(TRANSIENT, mlid.toLong())
                    scope = scopeOf(mgid)
                    portGID = Gid(0, 0)
                    this.mlid = Lid(mlid)
                    mtuSelector = Selector.EXACTLY
                    rateSelector = Selector.EXACTLY
                    packetLifeTimeSelector = Selector.EXACTLY
                    joinState = MCJoinState.of(0)
                    val end = checkNotNull(portOf(wanted.portGID))
                    if (mtu.value == 0) mtu = checkNotNull(finder.path(end, end)).mtu
                    if (rate.value == 0) rate = checkNotNull(finder.path(end, end)).rate
                },
            )
        groups[group.record.mgid] = group
        changed(TrapNumber.MGID_CREATED, group.record.mgid)
        return enter(group, wanted, state)
    }

    /** The scope of a multicast GID is the low half of its second byte (RFC 4291, 2.7). */
    private fun scopeOf(mgid: Gid) = MCScope.of((mgid.subnetPrefix() ushr SCOPE_SHIFT).toInt() and SCOPE_BITS)

    private fun enter(
        group: Group,
        wanted: MCMemberRecord,
        state: Int,
    ): Found {
        val all = (group.members[wanted.portGID] ?: 0) or state
        group.members[wanted.portGID] = all
        route(group)
        return Found(listOf(member(group, wanted.portGID, all)))
    }

    private fun leave(wanted: MCMemberRecord): Found {
        val group = groups[wanted.mgid]
        val state = group?.members?.get(wanted.portGID)
        val left = wanted.joinState.value
        if (group == null || state == null || state and left != left || left == 0) {
            return Found(emptyList(), Administration.REQUEST_INVALID)
        }
        val rest = state and left.inv()
        if (rest == 0) group.members.remove(wanted.portGID) else group.members[wanted.portGID] = rest
        // A group ends with its last full member.
        endWithoutMembers(group)
        route(group)
        return Found(listOf(member(group, wanted.portGID, left)))
    }

    /** Leads all groups anew after the fabric has changed. Members whose ports are gone are members no more. */
    fun sweep() {
        for (group in groups.values.toList()) {
            group.members.keys.removeAll { portOf(it) == null }
            endWithoutMembers(group)
            route(group)
        }
    }

    private fun endWithoutMembers(group: Group) {
        if (group.members.values.any { it and FULL_MEMBER != 0 }) return
        groups.remove(group.record.mgid)
        changed(TrapNumber.MGID_DESTROYED, group.record.mgid)
        group.members.clear()
    }

    private fun route(group: Group) = trees.route(group.record.mlid.value, group.members.keys.mapNotNull(::portOf))

    private fun portOf(gid: Gid): Int? = manager.subnet.ports().firstOrNull { finder.gid(it) == gid }

    private companion object {
        const val FIRST_MLID = 0xc000
        const val SCOPE_SHIFT = 48
        const val SCOPE_BITS = 0xf
        const val FULL_MEMBER = 1
        const val NO_RESOURCES = 1 shl 8

        /** The beginning of the GIDs of groups that an administrator names. */
        val TRANSIENT = 0xff12_a01b_fe80_0000UL.toLong()
        val SELECTORS = setOf("mtuSelector", "rateSelector", "packetLifeTimeSelector")

        /** What a request must have that makes a group: IBA 15.2.5.17.2. */
        val NEEDED = listOf("qKey", "tClass", "pKey", "sl", "flowLabel", "joinState")
    }
}
