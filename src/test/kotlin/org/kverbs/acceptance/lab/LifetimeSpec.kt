package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.AddressAttributes
import org.kverbs.Device
import org.kverbs.GlobalRoute
import org.kverbs.MemoryWindowType
import org.kverbs.QueuePairInitAttributes
import org.kverbs.QueuePairType
import org.kverbs.SharedReceiveQueueAttributes
import java.io.File
import java.lang.foreign.Arena
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource

/** Opening and closing each resource on Soft-RoCE again and again leaves nothing behind: no memory, no descriptor. */
class LifetimeSpec :
    FunSpec({
        beforeSpec {
            fillHeap()
            Opened.entries.forEach { resource -> onSoftRoce { bench -> resource.prepare(bench).let { repeat(THOUSAND / 2) { _ -> it() } } } }
        }

        Opened.entries.forEach { resource ->
            test("should keep nothing of $OPENS ${resource.what} that were opened and closed")
                .config(timeout = 5.minutes, blockingTest = true) {
                    onSoftRoce { bench ->
                        val openAndClose = resource.prepare(bench)
                        val descriptors = openDescriptors()
                        val start = TimeSource.Monotonic.markNow()
                        val resident =
                            List(OPENS / THOUSAND) {
                                repeat(THOUSAND) { openAndClose() }
                                residentBytes()
                            }
                        val kilobytes = resident.map { (it - resident.first()) / 1024 }
                        println("$OPENS ${resource.what} in ${start.elapsedNow()}, KiB above the first thousand: $kilobytes")
                        withClue("open descriptors") { openDescriptors() shouldBe descriptors }
                        withClue("bytes of the last thousand above the first") { resident.last() - resident.first() shouldBeLessThan BOUND }
                    }
                }
        }

        test("should notice an object that keeps so little as a kilobyte") {
            val kept = mutableListOf<Any>()
            val memory = residentBytes()
            repeat(OPENS - THOUSAND) { kept += Arena.ofAuto().allocate(1024).fill(1) }
            val grown = residentBytes() - memory
            withClue("after ${kept.size} objects") { grown shouldBeGreaterThan BOUND }
        }
    })

private const val OPENS = 10_000
private const val THOUSAND = 1_000

/** A kilobyte lost each time would be 9 MB; the JVM's own share goes up and down by less than 2. */
private const val BOUND = 4L shl 20

private enum class Opened(
    val what: String,
    val prepare: (Bench) -> () -> Unit,
) {
    CONTEXTS("contexts", { bench -> { Device.byName(bench.device.name).open().close() } }),
    DOMAINS("protection domains", { bench -> { bench.context.protectionDomain().close() } }),
    REGIONS("memory regions of their own memory", { bench -> { bench.memory(4096).close() } }),
    GIVEN_REGIONS("memory regions of given memory", { bench ->
        val memory = Arena.global().allocate(4096, 4096);
        { bench.pd.register(memory, *FULL_ACCESS).close() }
    }),
    CHANNELS("completion channels", { bench -> { bench.context.completionChannel().close() } }),
    QUEUES("completion queues", { bench -> { bench.cq(16).close() } }),
    ANNOUNCING_QUEUES("completion queues on a channel", { bench ->
        val channel = bench.context.completionChannel();
        { bench.cq(16, channel).close() }
    }),
    RC_PAIRS("queue pairs of type RC", { bench -> pairs(bench, QueuePairType.RC) }),
    UC_PAIRS("queue pairs of type UC", { bench -> pairs(bench, QueuePairType.UC) }),
    UD_PAIRS("queue pairs of type UD", { bench -> pairs(bench, QueuePairType.UD) }),
    SHARED_QUEUES("shared receive queues", { bench ->
        { bench.pd.sharedReceiveQueue(SharedReceiveQueueAttributes(16, 1, 0)).close() }
    }),
    ADDRESSES("address handles", { bench ->
        val index = bench.context.defaultGidIndex(PORT)
        val route = GlobalRoute(bench.context.queryGid(PORT, index), 0, index, GlobalRoute.DEFAULT_HOP_LIMIT, 0)
        val address = AddressAttributes.builder().port(PORT).globalRoute(route).build();
        { bench.pd.addressHandle(address).close() }
    }),
    WINDOWS("memory windows", { bench -> { bench.pd.memoryWindow(MemoryWindowType.TYPE_2).close() } }),
}

private fun pairs(
    bench: Bench,
    type: QueuePairType,
): () -> Unit {
    val cq = bench.cq()
    return { bench.pd.queuePair(QueuePairInitAttributes.of(type, cq)).close() }
}

private fun onSoftRoce(block: (Bench) -> Unit) = Bench(devicesUnderTest.single { it.name == "rxe0" }).use(block)

private fun openDescriptors() = File("/proc/self/fd").list()!!.size

/** What the process has in memory, when the garbage collector and the cleaner of off-heap memory have done their work. */
private fun residentBytes(): Long {
    System.gc()
    Thread.sleep(50)
    val line = File("/proc/self/status").readLines().single { it.startsWith("VmRSS:") }
    return line.filter { it.isDigit() }.toLong() * 1024
}

/** Makes the memory of the young generation resident, which it would else become during the test. */
private fun fillHeap() {
    var garbage = ByteArray(0)
    repeat(512) { garbage = ByteArray(1 shl 20) { 1 } }
    check(garbage.isNotEmpty())
}
