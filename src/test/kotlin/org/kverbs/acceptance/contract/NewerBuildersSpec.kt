package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import org.kverbs.RdmaSystemException
import org.kverbs.acceptance.contract.Capability.COMPLETION_COUNTERS
import org.kverbs.acceptance.contract.Capability.DEVICE_MEMORY
import org.kverbs.acceptance.contract.Capability.IMPORT
import org.kverbs.acceptance.contract.Capability.RATE_LIMIT
import org.kverbs.acceptance.contract.Capability.TAG_MATCHING
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.CountedOperation.RDMA_WRITE
import org.kverbs.attributes.CountedOperation.RECEIVE
import org.kverbs.dsl.add
import org.kverbs.dsl.byteCounter
import org.kverbs.dsl.completionCounter
import org.kverbs.dsl.importDeviceMemory
import org.kverbs.dsl.importProtectionDomain
import org.kverbs.dsl.importRegion
import org.kverbs.dsl.importTwin
import org.kverbs.dsl.limitRate
import org.kverbs.dsl.srq
import org.kverbs.dsl.tagList
import java.lang.foreign.MemorySegment

/** Checks the builders of the DSL for verbs that not every device has. */
internal class NewerBuildersSpec :
    ContractSpec({
        case("should count what the block names, from the value that it names", COMPLETION_COUNTERS) {
            val a = end()
            val b = end()
            val writes =
                context.completionCounter {
                    count(a.qp, RDMA_WRITE)
                    from(10)
                }
            val bytes = context.byteCounter { count(b.qp, RECEIVE) }
            linked(a = a, b = b)
            b.qp.postReceive(1, b.mr.slice(0, 64))
            a.post {
                write(1, b.mr.remote()).from(a.mr.slice(0, 10))
                send(2).from(a.mr.slice(0, 30)).signaled()
            }
            a.cq.takeOne().isSuccess shouldBe true
            b.cq.takeOne().isSuccess shouldBe true
            listOf(writes.read(), bytes.read()) shouldBe listOf<Long>(11, 30)
        }

        case("should leave no counter behind when the device refuses what the block names", COMPLETION_COUNTERS) {
            val (a, _) = linked()
            shouldThrow<RdmaSystemException> { context.completionCounter { count(a.qp, RDMA_WRITE) } }
                .errnoName() shouldBe "EINVAL" // connected
        }

        case("should import by the exporter's objects", IMPORT, DEVICE_MEMORY) {
            val region = memory(4096, LOCAL_WRITE)
            val onDevice = context.deviceMemory(64)
            context.importTwin().use { twin ->
                val domain = twin.importProtectionDomain(pd)
                domain.kernelHandle() shouldBe pd.kernelHandle()
                val imported = domain.importRegion(region)
                imported.remote() shouldBe region.remote()
                domain.importRegion(region.kernelHandle(), at = region.remote()).lkey() shouldBe region.lkey()
                twin.importDeviceMemory(onDevice).copyFrom(0, MemorySegment.ofArray(intArrayOf(7)))
            }
            val back = IntArray(1)
            onDevice.copyTo(0, MemorySegment.ofArray(back))
            back[0] shouldBe 7
        }

        case("should add to a list of tags by names, and have no list on other queues", TAG_MATCHING) {
            val queue = pd.srq { tags(4, cq(), maxOperations = 2) }
            val handle = queue.tagList().add(tag = 5, into = memory().slice(0, 64), id = 3)
            queue.tagList().remove(1, handle)
            shouldThrow<IllegalStateException> { pd.srq { maxWr(4) }.tagList() }
        }

        case("should limit a rate by numbers", RATE_LIMIT) {
            val (a, _) = linked()
            a.qp.limitRate(kbps = 1_000_000)
            a.qp.limitRate(kbps = 0)
        }
    })
