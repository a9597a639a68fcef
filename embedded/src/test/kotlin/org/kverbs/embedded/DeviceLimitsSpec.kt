package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.Arena

/** Checks a device with a test's limits: it refuses what a card with these limits refuses. */
class DeviceLimitsSpec :
    FunSpec({
        fun on(
            limits: DeviceLimits,
            use: (Context) -> Unit,
        ) = EmbeddedFabric.virtual(1).use { fabric -> fabric.addDevice(limits).open().use(use) }

        fun refusal(create: () -> Unit) =
            shouldThrow<RdmaSystemException> { create() }
                .also {
                    it.errnoName() shouldBe
                        "ENOMEM"
                }.message

        /** Makes two objects, is refused a third by name, and can make another after one is closed. */
        fun <T : AutoCloseable> twoAtMost(
            name: String,
            create: (Int) -> T,
        ) {
            val made = List(2) { create(it) }
            refusal { create(2) } shouldContain "embedded0 has 2 of at most 2 $name"
            made[0].close()
            create(3)
            refusal { create(4) } shouldContain "and 1 more were requested:"
        }

        test("should refuse one queue pair more than there can be, and name the limit") {
            on(DeviceLimits.DEFAULTS.queuePairs(2)) { context ->
                context.queryDevice().maxQp() shouldBe 2
                val pd = context.protectionDomain()
                val cq = context.completionQueue(8)
                twoAtMost("queue pairs") { pd.queuePair(QueuePairInitAttributes.of(RC, cq)) }
                refusal { pd.queuePair(QueuePairInitAttributes.of(RC, cq)) } shouldContain "(max_qp)"
            }
        }

        test("should refuse one more of every other object than there can be") {
            val two =
                DeviceLimits.DEFAULTS
                    .completionQueues(
                        2,
                    ).protectionDomains(3)
                    .memoryRegions(2)
                    .sharedReceiveQueues(2)
            on(two) { context ->
                twoAtMost("completion queues") { context.completionQueue(8) }
                val pd = context.protectionDomain()
                twoAtMost("memory regions") { pd.memoryRegion(8, LOCAL_WRITE) }
                twoAtMost("shared receive queues") { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1)) }
                repeat(2) { context.protectionDomain() }
                refusal { context.protectionDomain() } shouldContain "(max_pd)"
            }
        }

        test("should refuse to register more bytes than may be locked, in one region or in all") {
            on(DeviceLimits.DEFAULTS.lockedBytes(10_000)) { context ->
                val pd = context.protectionDomain()
                refusal { pd.memoryRegion(10_001) } shouldContain "lockedBytes of its DeviceLimits"
                val first = pd.memoryRegion(6_000)
                refusal { pd.memoryRegion(4_001) } shouldContain "embedded0 has 6000 of at most 10000 bytes registered"
                Arena.ofConfined().use { arena ->
                    val moved = pd.register(arena.allocate(4_000))
                    refusal { moved.reregister(arena.allocate(4_001)) }
                    moved.reregister(arena.allocate(1_000))
                    pd.memoryRegion(3_000)
                    first.close()
                    pd.memoryRegion(6_000)
                    moved.close()
                }
            }
        }

        test("should count the objects of all contexts of a device, and free those of a closed context") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val device =
                    fabric.addDevice(
                        DeviceLimits.DEFAULTS.completionQueues(2).lockedBytes(100).protectionDomains(2),
                    )
                val first = device.open()
                device.open().use { second ->
                    first.completionQueue(4)
                    second.completionQueue(4)
                    second.protectionDomain().memoryRegion(100)
                    refusal { first.completionQueue(4) }
                    refusal { first.protectionDomain().memoryRegion(1) }
                }
                first.completionQueue(4)
                first.protectionDomain().memoryRegion(100)
                first.close()
            }
        }

        test("should refuse sizes beyond the limits that the device's attributes show") {
            val small =
                DeviceLimits.DEFAULTS
                    .workRequests(
                        16,
                    ).entries(2)
                    .completions(32)
                    .sharedReceives(8)
                    .reads(4)
                    .inlineBytes(64)
            on(small) { context ->
                val most = context.queryDevice()
                listOf(most.maxQpWr(), most.maxSge(), most.maxCqe(), most.maxSrqWr(), most.maxQpRdAtom()) shouldBe
                    listOf(16, 2, 32, 8, 4)
                val pd = context.protectionDomain()
                val cq = context.completionQueue(32)

                fun refused(create: () -> Unit) =
                    shouldThrow<RdmaSystemException> { create() }.errnoName() shouldBe "EINVAL"
                refused { context.completionQueue(33) }
                refused { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(9, 1)) }
                val sizes =
                    listOf(17 to 1, 16 to 3).map { (requests, entries) ->
                        QueuePairCapabilities(requests, 16, entries, 2, 64)
                    }
                (sizes + QueuePairCapabilities(16, 16, 2, 2, 65)).forEach {
                    refused { pd.queuePair(QueuePairInitAttributes.of(RC, cq).with(it)) }
                }
                pd.queuePair(QueuePairInitAttributes.of(RC, cq).with(QueuePairCapabilities(16, 16, 2, 2, 64)))
            }
        }

        test(
            "should name the limit of inline data, which no device attribute shows, and then the limit of the next " +
                "refusal",
        ) {
            on(DeviceLimits.DEFAULTS.inlineBytes(64).workRequests(16)) { context ->
                val pd = context.protectionDomain()
                val cq = context.completionQueue(32)

                fun advice(capabilities: QueuePairCapabilities) =
                    shouldThrow<RdmaSystemException> {
                        pd.queuePair(
                            QueuePairInitAttributes.of(RC, cq).with(capabilities),
                        )
                    }.advice()
                advice(QueuePairCapabilities(16, 16, 2, 2, 65)) shouldBe
                    "max_inline_data 65 is above the device's limit of 64."
                advice(QueuePairCapabilities(17, 16, 2, 2, 65)) shouldContain
                    "max_send_wr 17 is above the device's max_qp_wr of 16."
            }
        }

        test("should refuse limits that are negative or too large") {
            shouldThrow<IllegalArgumentException> { DeviceLimits.DEFAULTS.queuePairs(-1) }.message shouldBe
                "queuePairs is -1: give a number from 0 to 65536"
            shouldThrow<IllegalArgumentException> { DeviceLimits.DEFAULTS.entries(33) }.message shouldBe
                "entries is 33: give a number from 0 to 32"
        }
    })
