package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.AccessFlag.ZERO_BASED
import org.kverbs.attributes.Feature
import org.kverbs.attributes.MemoryAdvice
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment

/** Tests the kinds of memory that not every device has on a library that has all of them. */
class OptionalMemorySpec :
    FunSpec({
        onNullDevice()

        test("should make a null region that has a key of this side alone") {
            NullBench().use { bench ->
                val region = bench.pd.nullRegion()
                region.lkey() shouldBe 7
                region.slice(1L shl 40, 10).address() shouldBe (1L shl 40)
                region.describe() shouldBe "null region on null0"
                shouldThrow<UnsupportedOperationException> { region.rkey() }
                shouldThrow<UnsupportedOperationException> { region.slice(bench.mr.memory()) }.message shouldBe
                    "the null region on null0 gives no memory to read and write: requests read zeros from it, and " +
                    "what they write to it is dropped"
                region.close()
                NullVerbs.destroyed().size shouldBe 1
            }
        }

        test("should copy between device memory and memory of the program, off-heap and on the heap") {
            NullBench().use { bench ->
                val memory = bench.context.deviceMemory(4096)
                memory.copyFrom(8, MemorySegment.ofArray(intArrayOf(1, 2, 3)))
                val back = IntArray(4)
                memory.copyTo(4, MemorySegment.ofArray(back))
                back.toList() shouldBe listOf(0, 1, 2, 3)
                Arena.ofConfined().use { arena ->
                    val copy = arena.allocate(4)
                    memory.copyTo(16, copy)
                    copy.get(java.lang.foreign.ValueLayout.JAVA_INT, 0) shouldBe 3
                }
                val odd = shouldThrow<RdmaSystemException> { memory.copyTo(2, MemorySegment.ofArray(back)) }
                (odd.operation() to odd.errnoName()) shouldBe ("ibv_memcpy_from_dm" to "EINVAL")
                odd.message shouldContain "offset=2, length=16"
                shouldThrow<IndexOutOfBoundsException> { memory.copyTo(4084, MemorySegment.ofArray(back)) }
                memory.close()
                shouldThrow<IllegalStateException> { memory.copyTo(0, MemorySegment.ofArray(back)) }
            }
        }

        test("should register device memory zero-based, and close the region before it") {
            NullBench().use { bench ->
                val memory = bench.context.deviceMemory(4096, 128)
                val region = bench.pd.register(memory, 1024, 512, LOCAL_WRITE, REMOTE_WRITE)
                region.access() shouldBe setOf(LOCAL_WRITE, REMOTE_WRITE, ZERO_BASED)
                region.remote() shouldBe RemoteMemory(0, 512, region.rkey())
                region.lkey() shouldBe (LOCAL_WRITE.bit() or REMOTE_WRITE.bit() or ZERO_BASED.bit())
                shouldThrow<IllegalArgumentException> { bench.pd.register(memory, REMOTE_WRITE) }
                shouldThrow<IllegalArgumentException> { bench.pd.register(memory, 0, 0, LOCAL_WRITE) }
                NullBench().use { other ->
                    shouldThrow<IllegalArgumentException> { other.pd.register(memory) }.message shouldStartWith
                        "device memory of 4096 bytes on null0 belongs to another open device"
                }
                NullVerbs.reset()
                memory.close()
                NullVerbs.destroyed() shouldBe listOf(region.handle(), memory.handle())
            }
        }

        test("should close a device whose memory is still registered") {
            NullBench().use { bench ->
                repeat(3) { bench.pd.register(bench.context.deviceMemory(64), LOCAL_WRITE) }
                NullVerbs.live(NullVerbs.Kind.DM) shouldBe 3
            }
            NullVerbs.live() shouldBe emptyMap()
        }

        for ((kind, what) in mapOf(NullVerbs.Kind.MR to "a region", NullVerbs.Kind.DM to "device memory")) {
            test("should say that $what is in use when the library does not end it, and end it later") {
                NullBench().use { bench ->
                    val memory = bench.context.deviceMemory(64)
                    bench.pd.register(memory, LOCAL_WRITE)
                    NullVerbs.set(NullVerbs.Option.KEEP_KIND, kind.ordinal)
                    NullVerbs.set(NullVerbs.Option.KEEP_ERRNO, 16)
                    shouldThrow<RdmaSystemException> { memory.close() }.errnoName() shouldBe "EBUSY"
                    NullVerbs.set(NullVerbs.Option.KEEP_KIND, -1)
                }
            }
        }

        test("should pass advice with its flag and its ranges, and name a refused call") {
            NullBench().use { bench ->
                val region = bench.pd.memoryRegion(8192, LOCAL_WRITE, ON_DEMAND)
                bench.pd.advise(MemoryAdvice.PREFETCH_WRITE, region.slice(0, 100), region.slice(4096, 11))
                NullVerbs.advised() shouldBe listOf<Long>(1, 1, 2, 111)
                bench.pd.adviseLater(MemoryAdvice.PREFETCH_NO_FAULT, region.slice())
                NullVerbs.advised() shouldBe listOf<Long>(2, 0, 1, 8192)
                val refusal =
                    shouldThrow<RdmaSystemException> { bench.pd.advise(MemoryAdvice.PREFETCH, region.slice(0, 13)) }
                refusal.errnoName() shouldBe "EFAULT"
                refusal.message shouldContain "ibv_advise_mr(null0, PREFETCH, flags=FLUSH, num_sge=1)"
            }
        }

        test("should register a dma-buf by its descriptor, and name the arguments of a refused one") {
            NullBench().use { bench ->
                bench.context.supports(Feature.DMABUF) shouldBe true
                NullVerbs.live(NullVerbs.Kind.MR) shouldBe 1
                NullVerbs.live(NullVerbs.Kind.PD) shouldBe 1
                val region = bench.pd.registerDmabuf(0, 4096, 1 shl 16, 0x7000_1000, LOCAL_WRITE)
                region.remote() shouldBe RemoteMemory(0x7000_1000, 1 shl 16, region.rkey())
                region.slice(16, 16).address() shouldBe 0x7000_1010
                region.address() shouldBe 0
                shouldThrow<RdmaSystemException> {
                    bench.pd.registerDmabuf(3, 1, 4096, 0)
                }.message shouldContain "ibv_reg_dmabuf_mr(null0, offset=1, length=4096, iova=0x0, fd=3, access=[])"
                shouldThrow<IllegalArgumentException> { bench.pd.registerDmabuf(-1, 0, 1, 0) }
            }
        }

        test("should register the whole address space, and slice it by segments") {
            NullBench().use { bench ->
                val everything = bench.pd.implicitRegion(LOCAL_WRITE)
                everything.access() shouldBe setOf(LOCAL_WRITE, ON_DEMAND)
                everything.length() shouldBe Long.MAX_VALUE
                everything.describe() shouldBe "implicit region on null0"
                val part = bench.mr.memory().asSlice(64, 100)
                everything.slice(part).address() shouldBe part.address()
                everything.slice(part).length() shouldBe 100
                everything.slice(part).memory() shouldBe part
                everything.remote(part) shouldBe RemoteMemory(part.address(), 100, everything.rkey())
                shouldThrow<UnsupportedOperationException> { everything.memory() }
                shouldThrow<UnsupportedOperationException> { everything.reregister(part) }
                shouldThrow<IllegalArgumentException> { everything.slice(MemorySegment.ofArray(ByteArray(8))) }
                shouldThrow<IllegalStateException> {
                    everything.slice(Arena.ofShared().use { it.allocate(8) })
                }
                shouldThrow<IllegalArgumentException> { bench.pd.implicitRegion(REMOTE_WRITE) }
                val slice = everything.slice(part)
                everything.close()
                shouldThrow<IllegalStateException> { slice.memory() }
                shouldThrow<IllegalStateException> { everything.slice(part) }
            }
        }

        test("should find a part of a region by its segment, and refuse one that is outside") {
            NullBench().use { bench ->
                val memory = bench.mr.memory()
                bench.mr.slice(memory.asSlice(100, 50)).offset() shouldBe 100
                bench.mr.remote(memory.asSlice(100, 50)) shouldBe bench.mr.remote().slice(100, 50)
                Arena.ofConfined().use { arena ->
                    shouldThrow<IndexOutOfBoundsException> { bench.mr.slice(arena.allocate(8)) }
                }
                shouldThrow<IndexOutOfBoundsException> {
                    bench.mr.slice(MemorySegment.ofAddress(memory.address() + 4090).reinterpret(8))
                }
            }
        }

        test("should name the device, the verb and what has it where the library has no such calls") {
            NullBench(extended = false).use { bench ->
                val calls =
                    mapOf<Feature, () -> Unit>(
                        Feature.NULL_REGION to { bench.pd.nullRegion() },
                        Feature.DEVICE_MEMORY to { bench.context.deviceMemory(64) },
                        Feature.MEMORY_ADVICE to { bench.pd.advise(MemoryAdvice.PREFETCH, bench.mr.slice()) },
                    )
                for ((feature, call) in calls) {
                    val missing = shouldThrow<UnsupportedVerbException> { call() }
                    missing.operation() shouldBe feature.verb()
                    missing.device() shouldBe "null0"
                    missing.message shouldContain feature.needs()
                    bench.context.supports(feature) shouldBe false
                }
                bench.context.supports(Feature.ON_DEMAND_PAGING) shouldBe false
            }
        }
    })
