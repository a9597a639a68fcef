package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.MW_BIND_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.embedded.Errno.EIO
import org.kverbs.embedded.Operation.ADVISE_MEMORY
import org.kverbs.embedded.Operation.ALLOCATE_DEVICE_MEMORY
import org.kverbs.embedded.Operation.ALLOCATE_NULL_REGION
import org.kverbs.embedded.Operation.COPY_DEVICE_MEMORY
import org.kverbs.embedded.Operation.REGISTER_DEVICE_MEMORY
import java.lang.foreign.MemorySegment

/** Checks device memory and null regions: their limits, their ends, and what they are refused for. */
class DeviceMemorySpec :
    FunSpec({
        fun onDevice(use: (Context) -> Unit) =
            EmbeddedFabric.virtual(1).use { fabric -> fabric.addDevice().open().use(use) }

        test("should give all of its memory, no more, and again what is freed") {
            onDevice { context ->
                val most = context.queryDeviceEx().maxDmSize()
                most shouldBe (1L shl 18)
                val halves = List(2) { context.deviceMemory(most / 2) }
                val refusal = shouldThrow<RdmaSystemException> { context.deviceMemory(1) }
                refusal.errnoName() shouldBe "ENOMEM"
                refusal.message shouldContain "262144 of at most 262144 bytes of device memory (max_dm_size)"
                halves[0].close()
                context.deviceMemory(most / 2).copyFrom(0, MemorySegment.ofArray(IntArray(1)))
            }
        }

        test("should give the memory of a closed context to another") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val device = fabric.addDevice()
                repeat(3) {
                    device.open().use { context ->
                        val memory = context.deviceMemory(1L shl 18)
                        context.protectionDomain().register(memory, LOCAL_WRITE)
                    }
                }
            }
        }

        test("should begin with zeros and refuse an alignment that it does not have") {
            onDevice { context ->
                val bytes = LongArray(8) { -1 }
                context.deviceMemory(64, 4096).copyTo(0, MemorySegment.ofArray(bytes))
                bytes.toList() shouldBe List(8) { 0L }
                shouldThrow<RdmaSystemException> { context.deviceMemory(64, 8192) }.errnoName() shouldBe "EINVAL"
            }
        }

        test("should copy words only, and say so") {
            onDevice { context ->
                val memory = context.deviceMemory(64)
                for ((offset, length) in listOf(1L to 4, 0L to 3)) {
                    shouldThrow<RdmaSystemException> {
                        memory.copyFrom(offset, MemorySegment.ofArray(ByteArray(length)))
                    }.message shouldContain "in words of 4 bytes"
                }
            }
        }

        test("should refuse the rights that device memory can't have, and to move it") {
            onDevice { context ->
                val pd = context.protectionDomain()
                val memory = context.deviceMemory(64)
                for (access in listOf(ON_DEMAND, MW_BIND)) {
                    shouldThrow<RdmaSystemException> { pd.register(memory, access) }.errnoName() shouldBe "EINVAL"
                }
                shouldThrow<UnsupportedOperationException> { pd.register(memory).reregister(LOCAL_WRITE) }
            }
        }

        test("should refuse a peer beyond a region of device memory, and one without the right") {
            for ((offset, right) in listOf(57L to REMOTE_WRITE, 0L to REMOTE_READ)) {
                Pair(EmbeddedFabric.virtual(1)).use { (a, b) ->
                    val region = b.pd.register(b.context.deviceMemory(128), 64, 64, LOCAL_WRITE, right)
                    a.post { write(1, offset, region.rkey()).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1).single().status() shouldBe REM_ACCESS_ERR
                }
            }
        }

        test("should not count device memory as locked") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice(DeviceLimits.DEFAULTS.lockedBytes(64)).open().use { context ->
                    val pd = context.protectionDomain()
                    val region = pd.register(context.deviceMemory(4096), LOCAL_WRITE)
                    pd.nullRegion().close()
                    pd.memoryRegion(64)
                    region.close()
                    shouldThrow<RdmaSystemException> { pd.memoryRegion(1) }.errnoName() shouldBe "ENOMEM"
                }
            }
        }

        for (semantics in Semantics.entries) {
            test("should let no peer use a null region by its lkey, and bind no window to it, as $semantics") {
                Pair(EmbeddedFabric.virtual(1), semantics = semantics).use { (a, b) ->
                    val nowhere = b.pd.nullRegion()
                    val window = b.pd.memoryWindow(MemoryWindowType.TYPE_2)
                    b.post { bind(1, window, window.rkey() + 1, nowhere.slice(0, 8), REMOTE_WRITE.bit()).signaled() }
                    b.take(1).single().status() shouldBe MW_BIND_ERR
                    a.post { write(1, 0, nowhere.lkey()).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1).single().isSuccess shouldBe false
                }
                Pair(EmbeddedFabric.virtual(1), semantics = semantics).use { (a, b) ->
                    a.post { write(1, 0, b.pd.nullRegion().lkey()).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1).single().status() shouldBe REM_ACCESS_ERR
                }
            }
        }

        test("should fail a request that uses a null region of another domain, or a closed one") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, b) ->
                val other = a.context.protectionDomain().nullRegion()
                a.post { write(1, b.mr.remote()).from(other.slice(0, 8)).signaled() }
                a.take(1).single().status() shouldBe LOC_PROT_ERR
                val closed = b.pd.nullRegion()
                val slice = closed.slice(0, 8)
                closed.close()
                b.pd.memoryRegion(8).isOpen shouldBe true
                slice.length() shouldBe 8
            }
        }

        test("should move a long message of nothing, from memory to memory and by datagrams of UDP") {
            for (fabric in listOf(EmbeddedFabric.virtual(1), EmbeddedFabric.virtual(1))) {
                Pair(fabric, bytes = 4L shl 20).use { (a, b) ->
                    b.fill(1)
                    a.post { write(1, b.mr.remote()).from(a.pd.nullRegion().slice(0, 4L shl 20)).signaled() }
                    a.take(1).single().status() shouldBe SUCCESS
                    b.bytes().all { it == 0.toByte() } shouldBe true
                    a.post { read(2, b.mr.remote()).into(a.pd.nullRegion().slice(0, 4L shl 20)).signaled() }
                    a.take(1).single().status() shouldBe SUCCESS
                }
            }
        }

        test("should refuse each call that a test refuses") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val device = fabric.addDevice()
                device.open().use { context ->
                    val pd = context.protectionDomain()
                    val memory = context.deviceMemory(64)
                    val paged = pd.memoryRegion(64, LOCAL_WRITE, ON_DEMAND)
                    val calls =
                        mapOf<Operation, () -> Unit>(
                            ALLOCATE_NULL_REGION to { pd.nullRegion() },
                            ALLOCATE_DEVICE_MEMORY to { context.deviceMemory(64) },
                            COPY_DEVICE_MEMORY to { memory.copyTo(0, MemorySegment.ofArray(IntArray(1))) },
                            REGISTER_DEVICE_MEMORY to { pd.register(memory) },
                            ADVISE_MEMORY to { pd.advise(MemoryAdvice.PREFETCH, paged.slice()) },
                        )
                    for ((operation, call) in calls) {
                        fabric.inject(device, Failure.of(operation, EIO))
                        shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "EIO"
                        call()
                    }
                }
            }
        }
    })
