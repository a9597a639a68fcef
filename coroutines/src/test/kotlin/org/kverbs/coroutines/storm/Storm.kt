package org.kverbs.coroutines.storm

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Executors
import kotlin.random.Random

/**
 * Runs 10,000 coroutines of a client on one completion queue, and the coroutines of their servers, on embedded devices
 * in this process, with the faults of [StormChaos].
 *
 * @param seed determines the plan. The order of threads and timers is not determined
 */
class Storm(
    seed: Long,
    operations: Long,
) : AutoCloseable {
    val ledger = StormLedger(operations)
    val fabric = EmbeddedFabric.realTime(seed)
    private val random = Random(seed)
    val client = StormNode(fabric.addDevice())
    val servers = CopyOnWriteArrayList(List(SERVERS) { StormNode(fabric.addDevice()) })
    private val replaced = ArrayList<StormNode>()
    val lanes = List(LANES) { lane -> StormLane(WORKERS, ledger) { client to servers[lane % SERVERS] } }

    @Volatile
    private var isWindingUp = false
    private val workers =
        lanes.flatMapIndexed { lane, it ->
            workers(lane, it, true, WORKERS) +
                workers(lane, it, false, SERVER_WORKERS)
        }
    val aftermath = StormAftermath(this, Random(random.nextLong()))
    val chaos = StormChaos(this, fabric, ledger, Random(random.nextLong()))

    /** A thread that does not compete with ten thousand coroutines. */
    private val watch = Executors.newSingleThreadExecutor { Thread(it, "storm") }.asCoroutineDispatcher()
    private val scope = CoroutineScope(Dispatchers.Default + SupervisorJob())

    private fun workers(
        lane: Int,
        on: StormLane,
        isClient: Boolean,
        count: Int,
    ) = List(count) {
        val number = ((lane * 2 + if (isClient) 1 else 2) shl 8) + it
        // Some workers only receive while others send, so that no sender waits for ever.
        if (it < RECEIVERS) {
            StormWorker(
                number,
                on,
                isClient,
                it,
                listOf(StormKind.RECEIVE),
                ledger,
                Random(random.nextLong()),
            ) { isWindingUp }
        } else {
            StormWorker(number, on, isClient, it, MIX, ledger, Random(random.nextLong())) { ledger.isOver }
        }
    }

    /** Replaces a broken device and closes it. */
    fun replace(node: StormNode) {
        val index = servers.indexOf(node)
        servers[index] = StormNode(fabric.addDevice())
        replaced.add(node)
        lanes
            .filterIndexed {
                lane,
                _,
                ->
                lane % SERVERS == index
            }.forEach { lane -> lane.linkOrNull()?.let(lane::broken) }
        node.context.close()
    }

    /** Runs the storm until there were enough operations, and then checks the remains. */
    suspend fun run() {
        val keepers = lanes.map { scope.launch(watch) { it.keep() } }
        val raging = scope.launch(Dispatchers.IO) { chaos.rage() }
        val working =
            workers.mapIndexed { i, worker ->
                val where = if (i % 4 == 0) client.dispatcher.coroutineDispatcher else Dispatchers.Default
                scope.launch(where) { worker.work() }
            }
        awaitProgress(working.filterIndexed { i, _ -> !workers[i].isReceiver })
        isWindingUp = true
        awaitProgress(working)
        raging.join()
        fabric.setFaults(Faults.NONE)
        (servers + client).forEach { fabric.linkUp(it.device) }
        if (ledger.violations.isNotEmpty()) return
        lanes.forEach { it.finish() }
        keepers.joinAll()
        aftermath.check(replaced)
    }

    /**
     * Waits for the workers' end while any operation ends. The duration of a single operation means nothing: on a busy
     * machine ten thousand coroutines wait long for their turns. An operation that hangs is left when all others have
     * ended.
     */
    private suspend fun awaitProgress(working: List<Job>) {
        var seen = -1L
        var since = System.nanoTime()
        while (withTimeoutOrNull(1000) { working.joinAll() } == null) {
            val now = ledger.ended + working.count { it.isCompleted }
            if (now != seen) since = System.nanoTime()
            seen = now
            if (System.nanoTime() - since < HANG_NANOS) continue
            val stuck = workers.filter { !it.isDone && (isWindingUp || !it.isReceiver) }
            ledger.violation("hang: ${stuck.size} operations did not end, such as $stuck".take(2000) + dump())
            return
        }
    }

    /** Shows what all threads do. */
    fun dump(): String =
        Thread.getAllStackTraces().entries.joinToString("") { (thread, frames) ->
            "\n${thread.name}" + frames.take(FRAMES).joinToString("") { "\n    at $it" }
        }

    override fun close() {
        scope.coroutineContext[Job]?.cancel()
        (replaced + servers + client).forEach { it.context.close() }
        fabric.close()
        watch.close()
    }

    companion object {
        const val LANES = 100
        const val WORKERS = 100
        const val SERVER_WORKERS = 12
        private const val RECEIVERS = 6
        private const val SERVERS = 4
        private const val FRAMES = 12
        private const val HANG_NANOS = 60_000_000_000L
        private val SHARES =
            mapOf(
                StormKind.SEND to 4,
                StormKind.WRITE to 5,
                StormKind.READ to 4,
                StormKind.ADD to 3,
                StormKind.BATCH to 1,
                StormKind.HOLD to 2,
            )
        private val MIX = SHARES.flatMap { (kind, share) -> List(share) { kind } }
    }
}
