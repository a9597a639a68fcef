package org.kverbs.serialization.storm

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.CompletionQueue
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.RdmaException
import org.kverbs.coroutines.ChannelProtocolException
import org.kverbs.coroutines.rdmaHost
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import org.kverbs.serialization.MessageDecodingException
import org.kverbs.serialization.RequestProtocolException
import java.io.IOException
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/**
 * Runs servers and clients on embedded devices of one fabric: the clients talk in all ways of [Talk], while connections
 * break, packets are lost and servers restart ([ServiceChaos]).
 *
 * @param seed determines the plan. The order of threads and timers is not determined
 */
internal class ServiceStorm(
    seed: Long,
    private val time: Duration,
) : AutoCloseable {
    val ledger = ServiceLedger()
    val fabric = EmbeddedFabric.realTime(seed)
    private val random = Random(seed)
    private val clientDevice = fabric.addDevice() // the first device, whose connection manager leads to the others
    private val clients = List(2) { rdmaHost { device(clientDevice) } }
    private val scope = CoroutineScope(Dispatchers.Default + SupervisorJob())
    val servers = List(2) { StormServer(fabric.addDevice(), scope, ledger) }
    val devices = servers.map { it.device } + clientDevice
    val chaos = ServiceChaos(this, Random(random.nextLong()))
    private val talks = ServiceTalks(ledger)
    private val doing = arrayOfNulls<String>(WORKERS)

    suspend fun run() {
        servers.forEach { it.start() }
        Talk.entries.forEach { talk -> repeat(2) { talkOnce(0, talk, Random(random.nextLong())) } }
        settle("at the beginning")
        val before = held()
        val begin = TimeSource.Monotonic.markNow()
        val raging = scope.launch { chaos.rage(begin + time) }
        val working =
            List(WORKERS) { worker ->
                val own = Random(random.nextLong())
                scope.launch { while (begin.elapsedNow() < time) talkOnce(worker, Talk.entries.random(own), own) }
            }
        awaitEnd(working + raging)
        fabric.setFaults(Faults.NONE)
        if (ledger.violations.isNotEmpty()) return
        // All devices work again.
        for (talk in Talk.entries) {
            val outcome = talkOnce(0, talk, Random(random.nextLong()))
            val isCancelled = talk == Talk.CANCELLED && outcome == Outcome.CANCELLED // part of the plan
            if (outcome != Outcome.COMPLETED && !isCancelled) ledger.violation("$talk $outcome after the storm")
        }
        settle("after the storm")
        withTimeoutOrNull(LIMIT) { while (held() > before) delay(10.milliseconds) }
            ?: ledger.violation(
                "${held()} resources are open, $before were: ${Diagnostics.openResources().groupingBy {
                    it.resource().javaClass.simpleName
                }.eachCount()}",
            )
    }

    private suspend fun talkOnce(
        worker: Int,
        talk: Talk,
        own: Random,
    ): Outcome {
        val id = ledger.nextId()
        doing[worker] = "$talk $id"
        val outcome =
            try {
                talks.run(talk, id, clients.random(own), servers.random(own).address, own)
            } catch (e: CancellationException) {
                ledger.violation("$talk $id was cancelled by nobody: ${e.stackTraceToString()}")
                Outcome.CANCELLED
            } catch (e: Throwable) {
                ledger.told(e, "$talk $id")
                Outcome.FAILED
            }
        ledger.end(talk, outcome)
        doing[worker] = null
        return outcome
    }

    /** Waits for the end of all talks while any talk makes progress. */
    private suspend fun awaitEnd(jobs: List<Job>) {
        var seen = -1L
        var since = TimeSource.Monotonic.markNow()
        while (withTimeoutOrNull(1.seconds) { jobs.joinAll() } == null) {
            val now = ledger.steps.sum()
            if (now != seen) since = TimeSource.Monotonic.markNow()
            seen = now
            if (since.elapsedNow() < LIMIT) continue
            ledger.violation("hang: ${doing.filterNotNull()} do not end")
            return
        }
    }

    /** Waits until no client is connected. */
    private suspend fun settle(whenever: String) {
        withTimeoutOrNull(LIMIT) {
            while (servers.any { !it.isIdle } || ledger.sleeping.get() != 0) delay(10.milliseconds)
        } ?: ledger.violation("$whenever: ${servers.map { it.describe() }}, ${ledger.sleeping} handlers sleep")
    }

    private fun held() = Diagnostics.openResources().map { it.resource() }.count { !isShared(it) }

    /**
     * The resources that the connections of a device share: completion queues, and memory kept for the next connection.
     */
    private fun isShared(resource: Any) = resource is CompletionQueue || resource is MemoryRegion

    override fun close() {
        scope.cancel()
        servers.forEach { it.close() }
        clients.forEach { it.close() }
        fabric.close()
    }

    private companion object {
        const val WORKERS = 16
        val LIMIT = 1.minutes
    }
}

/** Records a failed connection or call. Only the documented exceptions can occur. */
internal fun ServiceLedger.told(
    failure: Throwable,
    where: String,
) {
    failed(failure)
    val causes = generateSequence(failure) { it.cause }
    val isLie =
        causes.any {
            it is ChannelProtocolException || it is RequestProtocolException ||
                it is MessageDecodingException
        }
    if (isLie || (failure !is RdmaException && failure !is IOException)) {
        violation("$where: ${failure.stackTraceToString()}")
    }
}
