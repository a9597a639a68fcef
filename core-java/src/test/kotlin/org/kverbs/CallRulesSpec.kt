package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import java.lang.foreign.MemorySegment
import java.util.function.Consumer

/** Tests rules that a program could break without an answer of the device. */
internal class CallRulesSpec :
    FunSpec({
        timeout = 30_000
        onNullDevice()

        test("should refuse to close a resource, or what it was made from, inside a native call on it") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                for (resource in listOf(qp, bench.pd, bench.context)) {
                    val refusal = shouldThrow<IllegalStateException> { qp.callNative { resource.close() } }
                    refusal.message shouldContain "${resource.describe()} can't be closed inside callNative of"
                    resource.isOpen shouldBe true
                }
                qp.callNative { bench.mr.callNative { } }
                qp.callNative { bench.mr.close() } // the queue pair is not made from it
                qp.close()
            }
        }

        test("should refuse to bind a window of type 1 to a region of another domain") {
            NullBench().use { bench ->
                val window = bench.pd.memoryWindow(MemoryWindowType.TYPE_1)
                val qp = bench.queuePair()
                val foreign = bench.context.protectionDomain().memoryRegion(64, LOCAL_WRITE, MW_BIND)
                shouldThrow<IllegalArgumentException> { window.bind(qp, 1, foreign, 0, 64) }.message shouldContain
                    "memory region of 64 bytes on null0 belongs to another protection domain than the memory window"
                window.bind(qp, 1, bench.pd.parentDomain().memoryRegion(64, LOCAL_WRITE, MW_BIND), 0, 64)
            }
        }

        test("should copy the bytes of a slice of an implicit region into a request") {
            NullBench().use { bench ->
                val memory = bench.mr.memory().asSlice(16, 4)
                memory.copyFrom(MemorySegment.ofArray(byteArrayOf(1, 2, 3, 4)))
                val part = bench.pd.implicitRegion(LOCAL_WRITE).slice(memory)
                val qp = bench.extendedQueuePair(QueuePairCapabilities(8, 8, 4, 1, 64))
                qp.postWith(Consumer { it.send(1).inline(part) })
                NullVerbs.inlined(qp, 4) shouldBe listOf<Byte>(1, 2, 3, 4)
            }
        }

        test("should move a receiving queue pair of XRC to INIT by options, and tell its sequence number") {
            NullBench().use { bench ->
                val qp = bench.context.xrcDomain().queuePair()
                qp.init(ConnectOptions.DEFAULTS)
                qp.state() shouldBe QueuePairState.INIT
                qp.endpoint().psn() shouldBe qp.psn()
            }
        }
    })
