package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AccessFlag
import org.kverbs.internal.abi.IbvMr
import org.kverbs.internal.memory.Memory

class MemoryRegionKeysSpec :
    FunSpec({
        onNullDevice()

        test("should give the keys that the device gave, and new ones after a reregistration") {
            NullBench().use { bench ->
                val region = bench.mr
                val first = region.rkey()
                region.keys() shouldBe region.nativeKeys()
                region.reregister(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
                region.keys() shouldBe region.nativeKeys()
                region.rkey() shouldNotBe first
                region.remote().rkey() shouldBe region.rkey()
                region.slice().lkey() shouldBe region.lkey()
            }
        }

        test("should refuse the keys and slices of a closed region") {
            NullBench().use { bench ->
                val region = bench.mr
                region.close()
                listOf<() -> Unit>(
                    { region.lkey() },
                    { region.rkey() },
                    { region.remote() },
                    { region.slice(0, 8) },
                ).forEach { shouldThrow<IllegalStateException>(it).message shouldContain "is closed" }
            }
        }
    })

private fun MemoryRegion.keys() = listOf(lkey(), rkey())

private fun MemoryRegion.nativeKeys() =
    listOf(IbvMr.LKEY, IbvMr.RKEY).map {
        Memory.getInt(handle() + it)
    }
