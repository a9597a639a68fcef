package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeLessThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.delay
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.openDevice
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.EmbeddedFabric
import java.lang.foreign.ValueLayout.JAVA_BYTE

class ChannelMemorySpec :
    FunSpec({
        timeout = 60_000

        test("should reuse returned memory up to the number of bytes that it keeps") {
            openDevice("embedded0").use { device ->
                RegionCache(device.protectionDomain(), 16_384, AccessFlag.LOCAL_WRITE).use { cache ->
                    val first = cache.take(5000)
                    val address = first.memory.address()
                    first.pin()
                    first.close()
                    cache.take(5000).use { it.memory.address() shouldNotBe address } // the first is still in use
                    first.unpin()
                    val both = List(2) { cache.take(6000) }
                    both.map { it.memory.address() }.contains(address) shouldBe true
                    both.forEach(RegisteredBuffer::close)
                    cache.take(100_000).close()
                    cache.take(8192).use { it.memory.byteSize() shouldBe 8192 }
                }
            }
        }

        test("should clear only the bytes of the last use behind the new use of lent memory") {
            openDevice("embedded0").use { device ->
                RegionCache(device.protectionDomain(), 16_384, AccessFlag.LOCAL_WRITE, clears = true).use { cache ->
                    fun region(buffer: RegisteredBuffer) = buffer.part(0, 1).region().memory()
                    cache.take(6000).use {
                        it.memory.fill(1)
                        region(it).set(JAVA_BYTE, 7000, 2) // written by no use: it shows what is cleared
                    }
                    cache.take(100).use {
                        val bytes = region(it).toArray(JAVA_BYTE)
                        bytes.take(100) shouldBe List(100) { 1.toByte() }
                        bytes.take(6000).drop(100) shouldBe List(5900) { 0.toByte() }
                        bytes[7000] shouldBe 2.toByte()
                    }
                }
            }
        }

        test("should register little memory for a channel that sends one message at a time") {
            diagnosed {
                TwoChannels().use { ends ->
                    repeat(100) {
                        ends.client.send(ByteArray(4000))
                        ends.server.send(ends.server.receive())
                        ends.client.receive()
                        delay(1) // until the completion of the send
                    }
                    val regions = Diagnostics.openResources().map { it.resource() }.filterIsInstance<MemoryRegion>()
                    regions
                        .filter {
                            it.protectionDomain() === ends.serverPd
                        }.sumOf { it.length() } shouldBeLessThanOrEqual
                        120_000
                }
            }
        }

        test("should refuse a pool of another protection domain and accept one of the channel's domain") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val dispatcher = device.completionDispatcher()
                shouldThrow<IllegalArgumentException> {
                    dispatcher.messageChannel(pd) { pool(device.protectionDomain().bufferPool()) }
                }.message.let {
                    it shouldContain "buffer pool on embedded0"
                    it shouldContain "message channel"
                    it shouldContain "protection domain on embedded0"
                }
                dispatcher.messageChannel(pd) { pool(pd.bufferPool()) }.close()
            }
        }

        test("should free all memory when the device refuses the queue pair or its completion queue") {
            for (limits in listOf(DeviceLimits.DEFAULTS.queuePairs(1), DeviceLimits.DEFAULTS.completionQueues(1))) {
                EmbeddedFabric.realTime(1).use { fabric ->
                    fabric.addDevice(limits.memoryRegions(2)).open().use { device ->
                        val pd = device.protectionDomain()
                        val dispatcher = device.completionDispatcher { queueEntries(1) }
                        dispatcher.messageChannel(pd)
                        repeat(5) {
                            shouldThrow<RdmaSystemException> { dispatcher.messageChannel(pd) }.operation() shouldNotBe
                                "ibv_reg_mr"
                        }
                        pd.memoryRegion(64, AccessFlag.LOCAL_WRITE)
                    }
                }
            }
        }
    })
