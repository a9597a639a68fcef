package org.kverbs.management.subnet

import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Semaphore
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.sa.RecordedAttributes
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transaction.MadTimeoutException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong

private const val UNICAST_LIDS = 0xc000
private const val MULTICAST_LIDS = 0x3fff
private const val LINEAR_BLOCK = 64
private const val MULTICAST_BLOCK = 32
private const val NO_PORT: Byte = -1

/** 65,000 hosts below 5,000 switches take 250 MB. */
private const val MAX_BYTES = 512L * 1024 * 1024

/**
 * Fetches the forwarding tables of all switches of [subnet] in parallel, by the paths of the discovery. A switch that
 * does not answer is reported in [ForwardingTables.problems] and passed over. All tables together have at most 512 MB;
 * the switches beyond that are reported with the kind [SubnetProblemKind.LIMIT].
 *
 * @param subnet what [discover] found by the same port
 * @param multicast whether to fetch the tables of multicast groups, too
 * @throws org.kverbs.management.transaction.MadClosedException if the fabric is closed meanwhile
 * @throws org.kverbs.management.transport.MadTransportException if the transport can send nothing at all
 */
public suspend fun Fabric.forwardingTables(
    subnet: Subnet,
    multicast: Boolean = true,
): ForwardingTables = FetchTables(NodeTables(this), subnet).run(multicast)

/**
 * Fetches the forwarding tables of all switches of [subnet] from the subnet administrator, with two requests a switch.
 * A switch without a LID, or whose records do not come, is reported in [ForwardingTables.problems] and passed over.
 * Otherwise the result is as that of `Fabric.forwardingTables`.
 *
 * @param subnet what a discovery found by the same port
 * @param multicast whether to fetch the tables of multicast groups, too
 * @throws org.kverbs.management.transaction.MadClosedException if the fabric is closed meanwhile
 * @throws org.kverbs.management.transport.MadTransportException if the port knows no subnet manager, or if the
 *   transport can send nothing at all
 */
public suspend fun RecordedAttributes.forwardingTables(
    subnet: Subnet,
    multicast: Boolean = true,
): ForwardingTables = FetchTables(RecordTables(sa), subnet).run(multicast)

/** Fetches the tables of as many switches at once as requests can be outstanding. */
private class FetchTables(
    private val source: TableSource,
    private val subnet: Subnet,
) {
    private val linear = ConcurrentHashMap<Int, ByteArray>()
    private val multicast = ConcurrentHashMap<Int, Array<ShortArray>>()
    private val room = AtomicLong(MAX_BYTES)
    private val problems = ConcurrentLinkedQueue<SubnetProblem>()

    suspend fun run(withMulticast: Boolean): ForwardingTables {
        val permits = Semaphore(source.atOnce)
        coroutineScope {
            for (switch in subnet.switches) {
                permits.acquire()
                launch {
                    try {
                        fetch(switch, withMulticast)
                    } finally {
                        permits.release()
                    }
                }
            }
        }
        return ForwardingTables(subnet, HashMap(linear), HashMap(multicast), problems.sortedBy { it.node?.value })
    }

    private suspend fun fetch(
        switch: SubnetNode,
        withMulticast: Boolean,
    ) {
        val info = switch.switchInfo
        if (info == null) {
            problem(switch, SubnetProblemKind.NO_ANSWER, "its SwitchInfo is not known")
            return
        }
        val top = minOf(info.linearFDBTop, UNICAST_LIDS - 1)
        val masks = multicastLids(switch) * (switch.portCount / Short.SIZE_BITS + 1)
        val bytes = if (withMulticast) top + masks * Short.SIZE_BYTES else top
        if (room.addAndGet(-bytes.toLong()) < 0) {
            room.addAndGet(bytes.toLong())
            problem(switch, SubnetProblemKind.LIMIT, "the tables of all switches have more than $MAX_BYTES bytes")
            return
        }
        try {
            linear[switch.index] = linear(switch, top)
            if (withMulticast) multicast[switch.index] = multicast(switch, multicastLids(switch))
            return
        } catch (e: MadTimeoutException) {
            failed(switch, SubnetProblemKind.NO_ANSWER, e)
        } catch (e: MadClosedException) {
            throw e
        } catch (e: MadException) {
            failed(switch, SubnetProblemKind.REFUSED, e)
        } catch (e: NoRecordException) {
            problem(switch, SubnetProblemKind.NO_ANSWER, "the subnet administrator has no ${e.message}")
        }
        if (!linear.containsKey(switch.index)) room.addAndGet(bytes.toLong())
    }

    private suspend fun linear(
        switch: SubnetNode,
        top: Int,
    ): ByteArray {
        val table = ByteArray(top + 1) { NO_PORT }
        source.linear(switch, top / LINEAR_BLOCK) { block, answer ->
            val at = block * LINEAR_BLOCK
            answer.bytes().copyInto(table, at, 0, minOf(LINEAR_BLOCK, table.size - at))
        }
        return table
    }

    private suspend fun multicast(
        switch: SubnetNode,
        lids: Int,
    ): Array<ShortArray> {
        val table = Array(switch.portCount / Short.SIZE_BITS + 1) { ShortArray(lids) }
        val blocks = (lids + MULTICAST_BLOCK - 1) / MULTICAST_BLOCK
        source.multicast(switch, table.size, blocks) { position, block, answer ->
            val at = block * MULTICAST_BLOCK
            for (index in 0 until minOf(MULTICAST_BLOCK, lids - at)) {
                table[position][at + index] = answer.portMaskBlock[index].toShort()
            }
        }
        return table
    }

    /** How many multicast groups the switch has entries for: up to its top, if it keeps one. */
    private fun multicastLids(switch: SubnetNode): Int {
        val info = switch.switchInfo ?: return 0
        val capabilities = switch.port(0)?.info?.capabilityMask
        val hasTop = capabilities != null && PortCapabilityMask.IsMulticastFDBTopSupported in capabilities
        val top = info.multicastFDBTop
        val used = if (hasTop && top != 0) top - UNICAST_LIDS + 1 else info.multicastFDBCap
        return used.coerceIn(0, minOf(info.multicastFDBCap, MULTICAST_LIDS))
    }

    private fun failed(
        switch: SubnetNode,
        kind: SubnetProblemKind,
        error: MadException,
    ) {
        problems += SubnetProblem(kind, switch.guid, null, SafeText.of("forwarding table: ${error.message}"))
    }

    private fun problem(
        switch: SubnetNode,
        kind: SubnetProblemKind,
        text: String,
    ) {
        problems += SubnetProblem(kind, switch.guid, null, text)
    }
}
