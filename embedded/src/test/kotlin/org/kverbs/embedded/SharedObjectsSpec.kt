package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.CountedOperation
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes

/** Tests imports, tag matching and completion counters with injected failures and with contexts that close. */
class SharedObjectsSpec :
    FunSpec({
        test("should let each call be refused, and leave nothing behind") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice().open().use { context ->
                    fun refused(
                        operation: Operation,
                        call: () -> Unit,
                    ) {
                        fabric.inject(Failure.of(operation, Errno.ENOMEM))
                        shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "ENOMEM"
                    }
                    val pd = context.protectionDomain()
                    val region = pd.memoryRegion(64, LOCAL_WRITE)
                    val memory = context.deviceMemory(64)
                    context.twin().use { twin ->
                        refused(Operation.IMPORT_PROTECTION_DOMAIN) { twin.importProtectionDomain(pd.kernelHandle()) }
                        val same = twin.importProtectionDomain(pd.kernelHandle())
                        refused(Operation.IMPORT_MEMORY) { same.importRegion(region.kernelHandle(), 0) }
                        refused(Operation.IMPORT_DEVICE_MEMORY) { twin.importDeviceMemory(memory.kernelHandle(), 64) }
                    }
                    val cq = context.completionQueue(4)
                    val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, 1), 1, 1, cq)
                    refused(Operation.POST_TAG_OPERATIONS) { srq.tags()!!.sync(1) }
                    refused(Operation.CREATE_COMPLETION_COUNTER) { context.completionCounter() }
                    val counter = context.completionCounter()
                    val qp = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))
                    refused(Operation.ATTACH_COMPLETION_COUNTER) { counter.attach(qp, CountedOperation.SEND) }
                    refused(Operation.DESTROY_COMPLETION_COUNTER) { counter.close() }
                }
            }
        }

        test(
            "should end the duplicates of a descriptor with the last context, and keep those of another device apart",
        ) {
            EmbeddedFabric.virtual(1).use { fabric ->
                val context = fabric.addDevice().open()
                val other = fabric.addDevice().open()
                val wrong = context.duplicateDescriptor()
                shouldThrow<RdmaSystemException> { other.device().importContext(wrong) }.message shouldContain
                    "can be imported"
                val twin = context.device().importContext(wrong)
                val late = twin.duplicateDescriptor()
                context.close()
                val last = twin.device().importContext(late)
                val lost = last.duplicateDescriptor()
                twin.close()
                last.close()
                shouldThrow<RdmaSystemException> { last.device().importContext(lost) }.errnoName() shouldBe "EINVAL"
                shouldThrow<RdmaSystemException> { other.device().importContext(other.commandDescriptor()) }
                other.close()
            }
        }

        test("should find what the exporter's context had no more once that is closed") {
            EmbeddedFabric.virtual(1).use { fabric ->
                val context = fabric.addDevice().open()
                context.twin().use { twin ->
                    val pd = context.protectionDomain()
                    val number = pd.kernelHandle()
                    val same = twin.importProtectionDomain(number)
                    context.close()
                    shouldThrow<RdmaSystemException> { same.memoryRegion(64) }.errnoName() shouldBe "EINVAL"
                    shouldThrow<RdmaSystemException> { twin.importProtectionDomain(number) }.message shouldContain
                        "its exporter has closed it"
                }
            }
        }

        test("should import in a context that was imported what another importer made") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.addDevice().open().use { context ->
                    context.twin().use { first ->
                        first.twin().use { second ->
                            val made = first.protectionDomain()
                            val same = second.importProtectionDomain(made.kernelHandle())
                            val region = made.memoryRegion(64, LOCAL_WRITE)
                            same.importRegion(region.kernelHandle(), 0).lkey() shouldBe region.lkey()
                        }
                    }
                }
            }
        }
    })

private fun Context.twin(): Context = device().importContext(duplicateDescriptor())
