package org.kverbs.management.check

import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Semaphore
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.PKeyTable
import org.kverbs.management.subnet.SafeText
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.SubnetProblem
import org.kverbs.management.subnet.SubnetProblemKind
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transaction.MadTimeoutException
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

private const val KEYS = 32
private const val KEY = 0x7fff
private const val FULL = 0x8000

/** More than 100,000 ports with 128 keys each. */
private const val MOST_BLOCKS = 500_000

/**
 * Fetches the tables of partition keys of all ports that have a LID: those of hosts and routers, and port 0 of the
 * switches. Several ports are asked at once. A port that does not answer is reported in [Partitions.problems], and so
 * are linked ports without a LID, and the ports beyond half a million requests.
 *
 * @param subnet what [org.kverbs.management.subnet.discover] found by the same port
 * @throws org.kverbs.management.transaction.MadClosedException if the fabric is closed meanwhile
 * @throws org.kverbs.management.transport.MadTransportException if the transport can send nothing at all
 */
public suspend fun Fabric.partitions(subnet: Subnet): Partitions = FetchPartitions(this, subnet).run()

private class FetchPartitions(
    private val fabric: Fabric,
    private val subnet: Subnet,
) {
    private class Member(
        val port: SubnetPort,
        val key: Int,
    )

    private val members = ConcurrentLinkedQueue<Member>()
    private val problems = ConcurrentLinkedQueue<SubnetProblem>()
    private val blocks = AtomicInteger()

    suspend fun run(): Partitions {
        val permits = Semaphore(fabric.maxOutstanding)
        val ends = subnet.ports.filter { (it.number == 0) == it.node.isSwitch }
        val (ports, unknown) = ends.partition { it.lid.isUnicast }
        for (port in unknown.filter { it.number == 0 || it.peer != null }) {
            problem(port, SubnetProblemKind.NO_ANSWER, "the port has no LID, by which they are asked for")
        }
        coroutineScope {
            for (port in ports) {
                permits.acquire()
                launch {
                    try {
                        fetch(port)
                    } finally {
                        permits.release()
                    }
                }
            }
        }
        val all =
            members
                .groupBy { it.key and KEY }
                .toSortedMap()
                .map { (key, of) ->
                    val (full, limited) = of.sortedBy { it.port.index }.partition { it.key and FULL != 0 }
                    Partition(key, full.map { it.port }.distinct(), limited.map { it.port }.distinct())
                }
        return Partitions(all, problems.sortedBy { it.node?.value })
    }

    private suspend fun fetch(port: SubnetPort) {
        val count = (port.node.info.partitionCap + KEYS - 1) / KEYS
        if (blocks.addAndGet(count) > MOST_BLOCKS) {
            blocks.addAndGet(-count)
            problem(port, SubnetProblemKind.LIMIT, "the tables of all ports have more than $MOST_BLOCKS blocks")
            return
        }
        try {
            for (block in 0 until count) {
                val table = fabric.get<PKeyTable>(LidPath(port.lid), block)
                for (at in 0 until KEYS) {
                    val key = table.pKeyBlock[at]
                    if (key and KEY != 0) members += Member(port, key)
                }
            }
        } catch (e: MadTimeoutException) {
            problem(port, SubnetProblemKind.NO_ANSWER, "${e.message}")
        } catch (e: MadClosedException) {
            throw e
        } catch (e: MadException) {
            problem(port, SubnetProblemKind.REFUSED, "${e.message}")
        }
    }

    private fun problem(
        port: SubnetPort,
        kind: SubnetProblemKind,
        text: String,
    ) {
        problems += SubnetProblem(kind, port.node.guid, port.number, SafeText.of("partition keys: $text"))
    }
}
