package org.kverbs.mlx5

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Device
import org.kverbs.LibraryUnavailableException
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletions
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.DRIVER
import org.kverbs.driver.StandInLibrary.Kind
import org.kverbs.driver.StandInLibrary.Option
import org.kverbs.mlx5.StandIn.onStandIn

/** The door itself, the queries, and the completion queues. */
class Mlx5Spec :
    FunSpec({
        onStandIn()

        test("should say that another driver's device has none of it") {
            StandIn.open().use { context ->
                StandIn.set(Option.FOREIGN, 1)
                val refusal = shouldThrow<UnsupportedVerbException> { Mlx5.of(context) }
                refusal.device() shouldBe "null0"
                refusal.message shouldContain "this device has another driver"
                Mlx5.isSupported(context) shouldBe false
            }
        }

        test("should say so of an embedded device, and load no library for it") {
            Device.list().first { it.name() == "embedded0" }.open().use { context ->
                shouldThrow<UnsupportedVerbException> { Mlx5.of(context) }.message shouldContain "mlx5dv_is_supported"
                StandIn.calls() shouldBe listOf()
            }
        }

        test("should say that the library is missing, or has too old a release, and work with one that is there") {
            StandIn.open().use { context ->
                val file = System.getProperty("kverbs.libmlx5")
                try {
                    System.setProperty("kverbs.libmlx5", "/nonexistent/libmlx5.so.1")
                    val missing = shouldThrow<UnsupportedVerbException> { Mlx5.of(context) }
                    missing.message shouldContain "cannot load /nonexistent/libmlx5.so.1"
                    missing.message shouldContain
                        "Install package ibverbs-providers (Debian, Ubuntu) or libibverbs (Fedora, RHEL)"
                    (missing.cause is LibraryUnavailableException) shouldBe true
                    val old = StandIn.compile("libnullmlx5-21.so", "-Dmlx5dv_is_supported=not_in_this_release")
                    System.setProperty("kverbs.libmlx5", "$old")
                    shouldThrow<UnsupportedVerbException> { Mlx5.of(context) }.message shouldContain
                        "mlx5dv_is_supported needs rdma-core 22 or newer"
                    val postless = StandIn.compile("libnullmlx5-23.so", "-DWITHOUT_POSTS")
                    System.setProperty("kverbs.libmlx5", "$postless")
                    val attributes = QueuePairInitAttributes.of(DRIVER, context.completionQueue(1))
                    val refusal =
                        shouldThrow<UnsupportedVerbException> {
                            Mlx5.of(context).dciQueuePair(context.protectionDomain(), attributes)
                        }
                    refusal.errnoName() shouldBe "ENOSYS"
                    refusal.message shouldContain "since rdma-core 24"
                    StandIn.live(Kind.QP) shouldBe 0
                } finally {
                    System.setProperty("kverbs.libmlx5", file)
                }
                Mlx5.isSupported(context) shouldBe true
            }
        }

        test("should read what the device says, and nothing of what its driver does not know") {
            StandIn.open().use { context ->
                val mlx5 = Mlx5.of(context)
                StandIn.calls()
                val all = mlx5.query()
                StandIn.calls() shouldContainExactly listOf("mlx5dv_query_device null0 comp_mask=0xa81")
                all shouldBe
                    Mlx5Attributes(0xa1, 64, setOf(CqeFormat.HASH, CqeFormat.CHECKSUM_AND_STRIDE), 0x9, 2, 7, 5)
                listOf(all.hasPadding(), all.hasRealTimeStamps(), all.compressesLarge()) shouldBe
                    listOf(true, true, false)
                StandIn.set(Option.CAPS, -1)
                mlx5.query() shouldBe Mlx5Attributes(0xa1, 0, setOf(), 0, 0, 0, 0)
                StandIn.set(Option.REFUSE, 5)
                val refusal = shouldThrow<RdmaSystemException> { mlx5.query() }
                refusal.errnoName() shouldBe "EIO"
                refusal.operation() shouldBe "mlx5dv_query_device"
            }
        }

        test("should make a completion queue with its options, which is polled as any other") {
            StandIn.open().use { context ->
                val mlx5 = Mlx5.of(context)
                StandIn.calls()
                val options = CqeOptions.NONE.compressed(CqeFormat.CHECKSUM).ofSize(128).withPadding()
                val cq = mlx5.completionQueue(CompletionQueueAttributes.of(16), options)
                mlx5.completionQueue(CompletionQueueAttributes.of(8), CqeOptions.NONE)
                StandIn.calls() shouldContainExactly
                    listOf(
                        "mlx5dv_create_cq cqe=16 wc_flags=0x7f comp_mask=0x7 format=2 flags=1 size=128",
                        "mlx5dv_create_cq cqe=8 wc_flags=0x7f comp_mask=0x0 format=0 flags=0 size=0",
                    )
                cq.entries() shouldBe 16
                cq.poll(WorkCompletions(4)) shouldBe 0
                shouldThrow<IllegalArgumentException> { CqeOptions.NONE.ofSize(96) }
                StandIn.live(Kind.CQ) shouldBe 2
                context.protectionDomain().queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))
                cq.close()
                StandIn.live(Kind.QP) shouldBe 0
                StandIn.live(Kind.CQ) shouldBe 1
            }
        }

        test("should name the options that a driver does not have, and leave no queue behind") {
            StandIn.open().use { context ->
                val mlx5 = Mlx5.of(context)
                StandIn.set(Option.REFUSE, 95)
                val attributes = CompletionQueueAttributes.of(16).with(CompletionField.TIMESTAMP)
                val refusal =
                    shouldThrow<UnsupportedVerbException> { mlx5.completionQueue(attributes, CqeOptions.NONE) }
                refusal.operation() shouldBe "mlx5dv_create_cq"
                refusal.message shouldContain "Mlx5Device.query()"
                refusal.message shouldContain "completion timestamps"
                StandIn.set(Option.REFUSE, 22)
                shouldThrow<RdmaSystemException> {
                    mlx5.completionQueue(
                        attributes,
                        CqeOptions.NONE,
                    )
                }.errnoName() shouldBe
                    "EINVAL"
                StandIn.live(Kind.CQ) shouldBe 0
            }
        }

        test("should refuse calls after the close of the context") {
            val context = StandIn.open()
            val mlx5 = Mlx5.of(context)
            context.close()
            shouldThrow<IllegalStateException> { mlx5.query() }.message shouldContain "closed"
            shouldThrow<IllegalStateException> { Mlx5.of(context) }.message shouldContain "closed"
        }
    })
