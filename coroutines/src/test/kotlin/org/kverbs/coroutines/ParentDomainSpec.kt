package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.ON_DEMAND
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.dsl.RC
import org.kverbs.dsl.openDevice

/** Tests parent domains with dispatchers and channels, and the regions that a shared domain registers as well. */
class ParentDomainSpec :
    FunSpec({
        timeout = 60_000

        test("should refuse a domain with a thread domain, whose promise a dispatcher cannot keep") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val alone = pd.parentDomain(device.threadDomain())
                device.completionDispatcher().use { dispatcher ->
                    val calls =
                        listOf<() -> Any>(
                            { dispatcher.qp(alone, RC) },
                            { dispatcher.srq(alone) },
                            { dispatcher.messageChannel(alone) },
                        )
                    for (call in calls) {
                        shouldThrow<IllegalArgumentException> { call() }.message shouldContain
                            "the parent domain on embedded0 has a thread domain, which only one thread at a time"
                    }
                    dispatcher.qp(pd.parentDomain(), RC).close()
                    dispatcher.srq(alone.parent()!!).close()
                }
            }
        }

        test("should lend a pool of a domain to a channel in its parent domain, and the other way round") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val parent = pd.parentDomain()
                device.completionDispatcher().use { dispatcher ->
                    dispatcher.messageChannel(parent) { pool(pd.bufferPool()) }.close()
                    dispatcher.messageChannel(pd) { pool(parent.bufferPool()) }.close()
                    val channel = dispatcher.messageChannel(pd)
                    PrivateMemory(pd, MessageChannelBuilder()).use { memory ->
                        val slice = parent.memoryRegion(64, LOCAL_WRITE).slice()
                        (memory.local(slice) === slice) shouldBe true
                        memory.local(device.protectionDomain().memoryRegion(64, LOCAL_WRITE).slice()) shouldBe null
                    }
                    channel.close()
                }
            }
        }

        test("should use memory of a parent domain as it is, and leave the pages of a foreign region unpinned") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val shadows = Shadows(pd)
                val own = pd.parentDomain().memoryRegion(64, LOCAL_WRITE).slice()
                (shadows.of(own) === own) shouldBe true
                val other = device.protectionDomain()
                val paged = other.memoryRegion(4096, LOCAL_WRITE, REMOTE_READ, ON_DEMAND)
                val shadow = shadows.of(paged.slice())!!.region()
                shadow.access().contains(ON_DEMAND) shouldBe true
                (shadow.protectionDomain() === pd) shouldBe true
                paged.close()
                shadow.isOpen shouldBe false
            }
        }

        test("should have nothing for a foreign region without memory") {
            openDevice("embedded0").use { device ->
                val shadows = Shadows(device.protectionDomain())
                val other = device.protectionDomain()
                shadows.of(other.nullRegion().slice(0, 8)) shouldBe null
                shadows.of(other.register(device.deviceMemory(64), REMOTE_READ).slice()) shouldBe null
            }
        }
    })
