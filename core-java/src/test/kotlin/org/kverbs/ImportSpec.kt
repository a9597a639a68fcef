package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.Feature

/** Tests the import of objects on a library that has all of it but device memory. */
class ImportSpec :
    FunSpec({
        onNullDevice()

        test("should import a domain and a region by their numbers, and free the imports alone, newest first") {
            NullBench().use { bench ->
                val domain = bench.context.importProtectionDomain(7)
                domain.kernelHandle() shouldBe 7
                val region = domain.importRegion(9, 0x5000)
                region.kernelHandle() shouldBe 9
                region.remote() shouldBe RemoteMemory(0x5000, 4096, 11)
                region.slice(16, 8).address() shouldBe 0x5010
                region.lkey() shouldBe 10
                region.access().shouldBeEmpty()
                region.hasMemory() shouldBe false
                region.describe() shouldBe "imported region of 4096 bytes on null0"
                shouldThrow<UnsupportedOperationException> { region.memory() }.message shouldContain
                    "its bytes are memory of the exporter"
                NullVerbs.reset()
                domain.close()
                NullVerbs.destroyed() shouldBe listOf(region.handle(), domain.handle())
                shouldThrow<IllegalStateException> { region.kernelHandle() }
                shouldThrow<IllegalStateException> { domain.importRegion(9, 0) }
            }
            NullVerbs.live() shouldBe emptyMap()
        }

        test("should know two imports of one domain for the same, and those of others for strangers") {
            NullBench().use { bench ->
                val first = bench.context.importProtectionDomain(7)
                val second = bench.context.importProtectionDomain(7)
                first.sharesMemoryWith(second) shouldBe true
                first.parentDomain().sharesMemoryWith(second) shouldBe true
                first.sharesMemoryWith(bench.context.importProtectionDomain(8)) shouldBe false
                first.sharesMemoryWith(bench.pd) shouldBe false
                NullBench().use { first.sharesMemoryWith(it.context.importProtectionDomain(7)) shouldBe false }
                second.close()
                first.sharesMemoryWith(second) shouldBe false
                second.sharesMemoryWith(second) shouldBe true
            }
        }

        test("should name the number of an object that does not exist") {
            NullBench().use { bench ->
                val domain = shouldThrow<RdmaSystemException> { bench.context.importProtectionDomain(5000) }
                domain.errnoName() shouldBe "ENOENT"
                domain.message shouldContain "ibv_import_pd(null0, handle=5000)"
                shouldThrow<RdmaSystemException> { bench.pd.importRegion(5000, 0) }.message shouldContain
                    "ibv_import_mr(null0, handle=5000)"
                shouldThrow<IllegalArgumentException> { bench.context.importDeviceMemory(1, 0) }
                bench.context.supports(Feature.IMPORT) shouldBe true
            }
        }

        test("should import a context by a descriptor, and say what a device needs that refuses") {
            NullBench().use { bench ->
                val device = bench.context.device()
                device.importContext(1000).use { context ->
                    context.commandDescriptor() shouldBe 1000
                    context.importProtectionDomain(1).close()
                }
                val missing = shouldThrow<UnsupportedVerbException> { device.importContext(0) }
                missing.message shouldContain "ibv_import_device(cmd_fd=0)"
                missing.message shouldContain Feature.IMPORT.needs()
                shouldThrow<RdmaSystemException> { device.importContext(1) }.errnoName() shouldBe "EINVAL"
                shouldThrow<IllegalArgumentException> { device.importContext(-1) }
            }
        }

        test("should name the release where the library has no completion counters") {
            NullBench().use { bench ->
                bench.context.supports(Feature.COMPLETION_COUNTERS) shouldBe false
                val calls =
                    listOf(
                        { bench.context.completionCounter() },
                        { bench.context.byteCounter() },
                        { bench.context.queryCompletionCounters() },
                    )
                for (call in calls) {
                    val missing = shouldThrow<UnsupportedVerbException> { call() }
                    missing.errnoName() shouldBe "ENOSYS"
                    missing.message shouldContain "rdma-core 65"
                }
            }
        }

        test("should name the release where the library has no import of device memory") {
            NullBench().use { bench ->
                val missing = shouldThrow<UnsupportedVerbException> { bench.context.importDeviceMemory(1, 64) }
                missing.errnoName() shouldBe "ENOSYS"
                missing.message shouldContain "device memory with 35"
            }
        }
    })
