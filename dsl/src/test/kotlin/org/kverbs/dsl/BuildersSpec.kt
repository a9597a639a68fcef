package org.kverbs.dsl

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeSameInstanceAs
import org.kverbs.CompletionQueueOptions
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.Gid
import org.kverbs.attributes.GlobalRoute
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.MemorySegment
import java.nio.ByteBuffer

internal class BuildersSpec :
    FunSpec({
        test("should make a completion queue of 256 entries without a channel, unless told otherwise") {
            onNullDevice { context ->
                val usual = context.completionQueue { }
                usual.entries() shouldBe 256
                usual.channel() shouldBe null
                val channel = context.completionChannel()
                val other =
                    context.completionQueue {
                        entries(31)
                        channel(channel)
                    }
                other.entries() shouldBe 31
                other.channel() shouldBeSameInstanceAs channel
            }
        }

        test("should refuse a completion queue of no entries, a vector below zero, and what the device hasn't") {
            onNullDevice { context ->
                refusal { context.completionQueue { entries(0) } } shouldBe
                    "entries(0): give 1 or more, the number of completions that the queue holds"
                refusal { context.completionQueue { vector(-1) } } shouldBe
                    "vector(-1): give 0 or more, and less than the device's number of vectors"
                shouldThrow<RdmaSystemException> { context.completionQueue { vector(5) } }.message shouldContain
                    "comp_vector=5"
            }
        }

        test("should give a completion queue the options that it is told, and none otherwise") {
            onNullDevice(extended = true) { context ->
                context.completionQueue { }.options() shouldBe CompletionQueueOptions.NONE
                context.completionQueue { extended() }.options() shouldBe CompletionQueueOptions.NONE
                val domain = context.protectionDomain().parentDomain()
                val options =
                    context
                        .completionQueue {
                            timestamps()
                            wallClock()
                            fields(CompletionField.FLOW_TAG)
                            singleThreaded()
                            ignoreOverrun()
                            parentDomain(domain)
                        }.options()
                options shouldBe
                    CompletionQueueOptions(
                        setOf(CompletionField.TIMESTAMP, CompletionField.WALL_CLOCK, CompletionField.FLOW_TAG),
                        true,
                        true,
                        domain,
                    )
                "$options" shouldBe
                    "fields=[TIMESTAMP, WALL_CLOCK, FLOW_TAG], single-threaded, ignores overrun, in a parent domain"
            }
        }

        test("should open a device by the name of its port, and by its GUID") {
            onNullDevice { context ->
                for (name in listOf("null0/1", "0200:0000:0000:0001")) {
                    openDevice(name).use { it.device().name() shouldBe context.device().name() }
                }
            }
        }

        test("should refuse a channel of another open device") {
            onNullDevice { context ->
                onNullDevice { other ->
                    val channel = other.completionChannel()
                    refusal { context.completionQueue { channel(channel) } } shouldContain
                        "make the channel from the same context"
                }
            }
        }

        test("should let the device write a region and peers do nothing, unless told otherwise") {
            onNullDevice { context ->
                val pd = context.protectionDomain()
                val direct = ByteBuffer.allocateDirect(64)
                pd.memoryRegion(64) { }.access() shouldBe setOf(AccessFlag.LOCAL_WRITE)
                pd.register(direct) { }.access() shouldBe setOf(AccessFlag.LOCAL_WRITE)
                pd.register(MemorySegment.ofBuffer(direct)) { access(REMOTE_READ) }.access() shouldBe
                    setOf(AccessFlag.REMOTE_READ)
                pd.memoryRegion(64) { access() }.access() shouldBe emptySet()
            }
        }

        test("should take the same rights for every kind of memory") {
            onNullDevice { context ->
                val pd = context.protectionDomain()
                val everything = pd.implicitRegion { access(LOCAL_WRITE, REMOTE_READ) }
                everything.access() shouldBe
                    setOf(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.ON_DEMAND)
                val memory = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(64))
                everything[memory].address() shouldBe memory.address()
                pd.registerDmabuf(1, 0, 64, 0) { }.access() shouldBe setOf(AccessFlag.LOCAL_WRITE)
            }
        }

        test("should refuse a region that peers write and this side may not, one of no bytes, and one on the heap") {
            onNullDevice { context ->
                val pd = context.protectionDomain()
                refusal { pd.memoryRegion(64) { access(REMOTE_WRITE) } } shouldContain
                    "REMOTE_WRITE needs LOCAL_WRITE too"
                refusal { pd.memoryRegion(64) { access(REMOTE_READ, REMOTE_ATOMIC) } } shouldContain
                    "REMOTE_ATOMIC needs LOCAL_WRITE too"
                refusal { pd.memoryRegion(0) { } } shouldContain "length 0 is out of range"
                refusal { pd.register(MemorySegment.ofArray(ByteArray(8))) { } } shouldContain
                    "memory on the Java heap can't be registered"
            }
        }

        test("should give the part of a region that Int and Long numbers name, in any mixture") {
            onNullDevice { context ->
                val region = context.protectionDomain().memoryRegion(64) { }
                val (offset, length) = 16 to 8
                listOf(
                    region[16, 8],
                    region[offset, length],
                    region[offset.toLong(), length],
                    region[offset, length.toLong()],
                    region[offset.toLong(), length.toLong()],
                    region[16, length.toLong()],
                ).forEach { listOf(it.offset(), it.length()) shouldBe listOf(16L, 8L) }
                shouldThrow<IndexOutOfBoundsException> { region[offset, 49] }.message shouldBe
                    "49 bytes at offset 16 reach beyond the memory region of 64 bytes"
            }
        }

        test("should make a shared queue of 128 requests of one entry without a limit, unless told otherwise") {
            onNullDevice { context ->
                val pd = context.protectionDomain()
                pd.srq { }.query() shouldBe SharedReceiveQueueAttributes(128, 1, 0)
                val full =
                    pd.srq {
                        maxWr(40)
                        maxSge(3)
                        limit(40)
                    }
                full.query() shouldBe SharedReceiveQueueAttributes(40, 3, 40)
            }
        }

        test("should refuse a limit above the shared queue's size, in any order, and name both") {
            onNullDevice { context ->
                val pd = context.protectionDomain()
                refusal { pd.srq { limit(129) } } shouldBe
                    "limit(129) is above maxWr(128): the number of receives is always below it; give a smaller limit"
                refusal {
                    pd.srq {
                        limit(9)
                        maxWr(8)
                    }
                } shouldBe "limit(9) is above maxWr(8): the number of receives is always below it; give a smaller limit"
                refusal { pd.srq { limit(-1) } } shouldContain "limit -1 is out of range"
            }
        }

        test("should count sizes in bytes, beyond 2 GiB too") {
            listOf(64.KiB, 3.MiB, 5.GiB) shouldBe listOf(65_536L, 3_145_728L, 5_368_709_120L)
        }

        test("should make an address from what the block says, and refuse one without a port") {
            onNullDevice { context ->
                val pd = context.protectionDomain()
                val gid = Gid.parse("::ffff:10.0.0.2")
                val address =
                    pd.addressHandle {
                        port(1)
                        serviceLevel(3)
                        globalRoute(gid, 2)
                    }
                address.attributes().port() shouldBe 1
                address.attributes().serviceLevel() shouldBe 3
                address.attributes().globalRoute() shouldBe GlobalRoute(gid, 0, 2, GlobalRoute.DEFAULT_HOP_LIMIT, 0)
                refusal { pd.addressHandle { globalRoute(gid, 2) } } shouldBe "port 0 is out of range: 1 to 255"
                refusal { pd.addressHandle { port(1).serviceLevel(16) } } shouldBe
                    "service level 16 is out of range: 0 to 15"
            }
        }
    })
