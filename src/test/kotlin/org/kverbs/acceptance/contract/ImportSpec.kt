package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueueAttributes
import org.kverbs.Context
import org.kverbs.MemoryWindow
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionStatus
import org.kverbs.acceptance.contract.Capability.DEVICE_MEMORY
import org.kverbs.acceptance.contract.Capability.IMPORT
import org.kverbs.acceptance.contract.Capability.MEMORY_WINDOWS
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType.RC
import java.lang.foreign.MemorySegment

/** Checks contexts, domains, regions and device memory that are imported from another context. */
internal class ImportSpec :
    ContractSpec({
        case("should write from and to imported regions of an imported domain", IMPORT) {
            context.twin().use { twin ->
                val domain = twin.importProtectionDomain(pd.kernelHandle())
                val source = memory(4096, LOCAL_WRITE)
                val target = memory(4096, LOCAL_WRITE, REMOTE_WRITE)
                source.put(pattern(4096))
                val from = domain.importRegion(source.kernelHandle(), source.remote().address())
                val to = domain.importRegion(target.kernelHandle(), target.remote().address())
                to.remote() shouldBe target.remote()
                from.length() shouldBe 4096
                from.lkey() shouldBe source.lkey()
                val cq = twin.completionQueue(CompletionQueueAttributes.of(16))
                val a = End(domain.queuePair(QueuePairInitAttributes.of(RC, cq)), cq, from)
                linked(a = a)
                a.post { write(1, to.remote()).from(from.slice()).signaled() }
                cq.takeOne().shouldBeDone(1, RDMA_WRITE, a.qp)
                target.bytes(4096) shouldBe pattern(4096)
            }
        }

        case("should leave the exporter's objects when the imports are closed, whatever their order", IMPORT) {
            val region = memory(4096, LOCAL_WRITE)
            val number = region.kernelHandle()
            context.twin().use { twin ->
                val first = twin.importProtectionDomain(pd.kernelHandle())
                val second = twin.importProtectionDomain(pd.kernelHandle())
                second.kernelHandle() shouldBe pd.kernelHandle()
                first.sharesMemoryWith(second) shouldBe true
                first.sharesMemoryWith(twin.protectionDomain()) shouldBe false
                val one = first.importRegion(number, region.remote().address())
                second.importRegion(number, region.remote().address())
                first.close()
                one.isOpen shouldBe false
                second.importRegion(number, region.remote().address()).lkey() shouldBe region.lkey()
            }
            region.isOpen shouldBe true
            val (a, b) = linked()
            a.post { write(2, b.mr.remote()).from(region.slice(0, 16)).signaled() }
            a.cq.takeOne().shouldBeDone(2, RDMA_WRITE, a.qp)
        }

        case("should refuse requests through an import whose exporter closed the region", IMPORT) {
            context.twin().use { twin ->
                val domain = twin.importProtectionDomain(pd.kernelHandle())
                val region = memory(4096, LOCAL_WRITE)
                val number = region.kernelHandle()
                val imported = domain.importRegion(number, region.remote().address())
                region.close()
                val (a, b) = linked()
                a.post { write(3, b.mr.remote()).from(imported.slice(0, 16)).signaled() }
                a.cq.takeOne().status() shouldBe WorkCompletionStatus.LOC_PROT_ERR
                shouldThrow<RdmaSystemException> { domain.importRegion(number, 0) }.message shouldContain
                    "ibv_import_mr("
            }
        }

        case("should make nothing in an imported domain that the exporter closed", IMPORT) {
            val exported = context.protectionDomain()
            context.twin().use { twin ->
                val domain = twin.importProtectionDomain(exported.kernelHandle())
                exported.close()
                shouldThrow<RdmaSystemException> { domain.memoryRegion(64) }.message shouldContain "ibv_reg_mr("
                shouldThrow<RdmaSystemException> { twin.importProtectionDomain(domain.kernelHandle()) }
            }
        }

        case("should keep a domain open while a region of another context is in it", IMPORT) {
            val exported = context.protectionDomain()
            context.twin().use { twin ->
                twin.importProtectionDomain(exported.kernelHandle()).memoryRegion(64, LOCAL_WRITE)
                shouldThrow<RdmaSystemException> { exported.close() }.errnoName() shouldBe "EBUSY"
            }
            exported.close()
        }

        case("should share device memory", IMPORT, DEVICE_MEMORY) {
            val memory = context.deviceMemory(64)
            memory.copyFrom(0, MemorySegment.ofArray(intArrayOf(5, 6, 7, 8)))
            context.twin().use { twin ->
                val imported = twin.importDeviceMemory(memory.kernelHandle(), 64)
                val back = IntArray(4)
                imported.copyTo(0, MemorySegment.ofArray(back))
                back.toList() shouldBe listOf(5, 6, 7, 8)
                imported.copyFrom(4, MemorySegment.ofArray(intArrayOf(9)))
                val region = twin.protectionDomain().register(imported, LOCAL_WRITE)
                shouldThrow<RdmaSystemException> { memory.close() }.errnoName() shouldBe "EBUSY"
                region.close()
                memory.close()
                shouldThrow<RdmaSystemException> { imported.copyTo(0, MemorySegment.ofArray(back)) }
            }
        }

        case("should bind a window to an imported region", IMPORT, MEMORY_WINDOWS) {
            context.twin().use { twin ->
                val domain = twin.importProtectionDomain(pd.kernelHandle())
                val region = memory(4096, LOCAL_WRITE, MW_BIND)
                val imported = domain.importRegion(region.kernelHandle(), region.remote().address())
                val cq = twin.completionQueue(CompletionQueueAttributes.of(16))
                val a = End(domain.queuePair(QueuePairInitAttributes.of(RC, cq)), cq, imported)
                linked(a = a)
                val window = domain.memoryWindow(MemoryWindowType.TYPE_2)
                val key = MemoryWindow.nextRkey(window.rkey())
                a.post { bind(4, window, key, imported.slice(0, 64), REMOTE_WRITE.bit()).signaled() }
                cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS
            }
        }

        case("should import each duplicate once, of this device alone", IMPORT) {
            val duplicate = context.duplicateDescriptor()
            duplicate shouldNotBe context.commandDescriptor()
            context.device().importContext(duplicate).close()
            shouldThrow<RdmaSystemException> { context.device().importContext(duplicate) }
        }

        case("should bind a window of one import to a region of another import of the domain", IMPORT, MEMORY_WINDOWS) {
            context.twin().use { twin ->
                val region = memory(4096, LOCAL_WRITE, MW_BIND)
                val imported =
                    twin
                        .importProtectionDomain(pd.kernelHandle())
                        .importRegion(region.kernelHandle(), region.remote().address())
                val domain = twin.importProtectionDomain(pd.kernelHandle())
                val cq = twin.completionQueue(CompletionQueueAttributes.of(16))
                val a = End(domain.queuePair(QueuePairInitAttributes.of(RC, cq)), cq, imported)
                linked(a = a)
                val window = domain.memoryWindow(MemoryWindowType.TYPE_2)
                val key = MemoryWindow.nextRkey(window.rkey())
                a.post { bind(4, window, key, imported.slice(0, 64), REMOTE_WRITE.bit()).signaled() }
                cq.takeOne().status() shouldBe WorkCompletionStatus.SUCCESS
            }
        }
    })

/** Imports this context. */
private fun Context.twin(): Context = device().importContext(duplicateDescriptor())
