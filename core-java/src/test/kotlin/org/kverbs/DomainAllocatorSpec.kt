package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import kotlin.concurrent.thread

/** What null0 asks for when it makes a queue pair. */
private const val BYTES = 5000L
private const val ALIGNMENT = 4096L
private const val TYPE = 0x5_0000_0007L

/** Tests the memory that a program gives a driver for its queues, with a driver that asks for it. */
class DomainAllocatorSpec :
    FunSpec({
        onNullDevice()

        fun ProtectionDomain.makeQueue(bench: NullBench) =
            queuePair(QueuePairInitAttributes.of(QueuePairType.RC, bench.cq))

        test("should give the driver zeroed memory of the program, and take it back when the queue pair is closed") {
            NullBench().use { bench ->
                Arena.ofShared().use { arena ->
                    val asked = mutableListOf<List<Long>>()
                    val freed = mutableListOf<MemorySegment>()
                    val memory = arena.allocate(8192, ALIGNMENT).fill(1)
                    val allocator =
                        object : DomainAllocator {
                            override fun allocate(
                                size: Long,
                                alignment: Long,
                                resourceType: Long,
                            ) = memory.also { asked += listOf(size, alignment, resourceType) }

                            override fun free(
                                memory: MemorySegment,
                                resourceType: Long,
                            ) {
                                freed += memory
                                resourceType shouldBe TYPE
                            }
                        }
                    val domain = bench.pd.parentDomain(allocator)
                    val qp = domain.makeQueue(bench)
                    asked shouldContainExactly listOf(listOf(BYTES, ALIGNMENT, TYPE))
                    memory.get(JAVA_BYTE, 0) shouldBe 0x5a
                    memory.get(JAVA_BYTE, BYTES) shouldBe 1
                    freed shouldBe emptyList()
                    qp.close()
                    freed shouldContainExactly listOf(memory)
                    domain.parent() shouldBe bench.pd
                }
            }
        }

        test("should let the driver allocate what a lambda gives null for, with a thread domain and without one") {
            NullBench().use { bench ->
                var calls = 0
                val allocator = DomainAllocator { _, _, _ -> null.also { calls++ } }
                bench.pd.parentDomain(bench.context.threadDomain(), allocator).makeQueue(bench)
                bench.pd.parentDomain(allocator).makeQueue(bench)
                calls shouldBe 2
            }
        }

        test("should fail the call, and not end the JVM, if the text of the allocator's exception throws") {
            NullBench().use { bench ->
                class Unspeakable : RuntimeException() {
                    override val message: String get() = error("no text")
                }
                val domain = bench.pd.parentDomain(DomainAllocator { _, _, _ -> throw Unspeakable() })
                shouldThrow<RdmaException> { domain.makeQueue(bench) }.message shouldContain "allocator"
            }
        }

        test("should refuse memory that the driver has already") {
            NullBench().use { bench ->
                Arena.ofShared().use { arena ->
                    val memory = arena.allocate(8192, ALIGNMENT)
                    val domain = bench.pd.parentDomain(DomainAllocator { _, _, _ -> memory })
                    domain.makeQueue(bench).use {
                        shouldThrow<RdmaException> { domain.makeQueue(bench) }.message shouldContain "has already"
                    }
                    domain.makeQueue(bench).close()
                }
            }
        }

        test("should fail the call that needs memory if the allocator throws or gives unfit memory, and say why") {
            Arena.ofShared().use { arena ->
                val gone = Arena.ofConfined().use { it.allocate(8192, ALIGNMENT) }
                val confined = Arena.ofConfined()
                val cases =
                    listOf(
                        { throw IllegalStateException("no memory on node 1") } to "no memory on node 1",
                        { throw StackOverflowError() } to "StackOverflowError",
                        { MemorySegment.ofArray(ByteArray(8192)) } to "on the Java heap",
                        { arena.allocate(4999, ALIGNMENT) } to "of 4999 bytes",
                        { arena.allocate(8192, ALIGNMENT).asSlice(8) } to "at 0x",
                        { arena.allocate(8192, ALIGNMENT).asReadOnly() } to "read-only",
                        { gone } to "closed arena",
                        { MemorySegment.NULL } to "of 0 bytes",
                    )
                for ((give, reason) in cases) {
                    NullBench().use { bench ->
                        val domain = bench.pd.parentDomain { _, _, _ -> give() }
                        val refusal = shouldThrow<RdmaSystemException> { domain.makeQueue(bench) }
                        refusal.errnoName() shouldBe "ENOMEM"
                        refusal.message shouldContain reason
                    }
                }
                confined.close()
            }
        }

        test("should survive an allocator that fails to free, and one whose program forgot all memory") {
            NullBench().use { bench ->
                val failing =
                    object : DomainAllocator {
                        override fun allocate(
                            size: Long,
                            alignment: Long,
                            resourceType: Long,
                        ) = Arena.ofAuto().allocate(size, alignment)

                        override fun free(
                            memory: MemorySegment,
                            resourceType: Long,
                        ): Unit = throw IllegalStateException("a failure of the test")
                    }
                val queues = List(20) { bench.pd.parentDomain(failing).makeQueue(bench) }
                repeat(3) {
                    System.gc()
                    Thread.sleep(10)
                }
                queues.forEach { it.close() } // the driver's memory was there until now
            }
        }

        test("should call an allocator on the threads that make queue pairs") {
            NullBench().use { bench ->
                val threads = mutableSetOf<Thread>()
                val domain =
                    bench.pd.parentDomain { size, alignment, _ ->
                        synchronized(threads) { threads += Thread.currentThread() }
                        Arena.ofAuto().allocate(size, alignment)
                    }
                val makers = List(4) { thread { repeat(50) { domain.makeQueue(bench).close() } } }
                makers.forEach { it.join() }
                threads shouldBe makers.toSet()
                domain.close()
            }
        }

        test("should be refused by a library without parent domains") {
            NullBench(extended = false).use { bench ->
                bench.context.supports(Feature.DOMAIN_ALLOCATOR) shouldBe false
                val refusal = shouldThrow<UnsupportedVerbException> { bench.pd.parentDomain { _, _, _ -> null } }
                refusal.operation() shouldBe "ibv_alloc_parent_domain"
                refusal.advice() shouldContain Feature.DOMAIN_ALLOCATOR.needs()
            }
        }
    })
