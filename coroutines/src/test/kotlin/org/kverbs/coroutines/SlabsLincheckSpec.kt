package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Param
import org.jetbrains.lincheck.datastructures.ThreadIdGen
import org.kverbs.MemoryRegion
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice

/**
 * The class that Lincheck creates many times and runs with several threads: one slab, which is one large chunk or two
 * small ones. A thread gives back only its own chunks, so that the test adds no race of its own.
 */
class SlabsUnderLincheck {
    private val slabs = Slabs(capacity = 1, slabBytes = 512, minBits = 8, maxBits = 9) { region }
    private val own = Array(8) { ArrayDeque<Chunk>() }
    private val lent = ArrayList<Chunk>()

    @Operation(promptCancellation = true)
    suspend fun takeLarge(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = hold(thread, slabs.take(512))

    @Operation(promptCancellation = true)
    suspend fun takeSmall(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = hold(thread, slabs.take(256))

    @Operation
    fun tryTakeSmall(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean = slabs.tryTake(256)?.let { hold(thread, it) } ?: false

    @Operation
    fun giveBack(
        @Param(gen = ThreadIdGen::class) thread: Int,
    ): Boolean {
        val chunk = own[thread].removeFirstOrNull() ?: return false
        synchronized(lent) { lent.remove(chunk) }
        slabs.giveBack(chunk)
        return true
    }

    private fun hold(
        thread: Int,
        chunk: Chunk,
    ): Boolean {
        own[thread].addLast(chunk)
        synchronized(lent) {
            check(
                lent.none {
                    chunk.offset < it.offset + it.size && it.offset < chunk.offset + chunk.size
                },
            ) { "the same bytes lent twice" }
            lent.add(chunk)
        }
        return true
    }

    companion object {
        /** One region for all slabs: its contents do not matter here. */
        lateinit var region: MemoryRegion
    }
}

class SlabsLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        beforeSpec {
            SlabsUnderLincheck.region = openDevice("embedded0").protectionDomain().memoryRegion(512) { access() }
        }
        afterSpec {
            SlabsUnderLincheck.region
                .protectionDomain()
                .context()
                .close()
        }

        test("should lend and take back as one thread would, in every order that model checking tries") {
            checkOrders(SlabsUnderLincheck::class, iterations = 5)
        }

        test("should lend and take back as one thread would, under stress") {
            checkUnderStress(SlabsUnderLincheck::class)
        }
    })
