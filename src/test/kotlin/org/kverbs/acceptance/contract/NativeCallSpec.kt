package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.collections.shouldBeUnique
import io.kotest.matchers.longs.shouldNotBeZero
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.Resource
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Gid
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT

/** Checks the door to the C objects, for calls that kverbs does not have. */
internal class NativeCallSpec :
    ContractSpec({
        case("should give each C object to a call of the program's own, or say that it has none") {
            val objects =
                listOf(
                    context,
                    pd,
                    memory(),
                    cq(),
                    context.completionChannel(),
                    pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1)),
                ) + optionalObjects()
            if (device.provider == "native") {
                val addresses = objects.map { it.cAddress() }
                addresses.forEach { it.shouldNotBeZero() }
                addresses.shouldBeUnique()
            } else {
                for (resource in objects) {
                    withClue(resource.describe()) {
                        shouldThrow<UnsupportedOperationException> { resource.cAddress() }
                            .message shouldContain "has no C object; take a device of libibverbs"
                    }
                }
            }
        }

        if (device.provider == "native") {
            case("should get from a C function what kverbs gets from it") {
                context.callNative { pointer -> context.firstGid(pointer) } shouldBe context.queryGid(PORT, 0)
            }
        }

        case("should give nothing of a closed resource") {
            val region = memory()
            region.close()
            shouldThrow<IllegalStateException> { region.cAddress() }.message shouldContain "is closed"
        }
    })

/** Objects that only some devices have. */
private fun Bench.optionalObjects(): List<Resource> =
    buildList {
        if (context.supports(Feature.DEVICE_MEMORY)) add(context.deviceMemory(64))
        if (context.supports(Feature.THREAD_DOMAIN)) add(context.threadDomain())
        if (context.supports(Feature.XRC)) context.xrcDomain().let { addAll(listOf(it, it.queuePair())) }
        if (context.supports(Feature.FLOW_COUNTERS)) add(context.flowCounters())
    }

private fun Resource.cAddress(): Long = callNative { it.address() }

/** Calls `ibv_query_gid`. */
private fun Context.firstGid(pointer: MemorySegment): Gid =
    Arena.ofConfined().use { arena ->
        val query =
            Linker.nativeLinker().downcallHandle(
                SymbolLookup.libraryLookup("libibverbs.so.1", arena).find("ibv_query_gid").orElseThrow(),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS),
            )
        val answer = arena.allocate(16)
        val result = query.invokeWithArguments(pointer, PORT, 0, answer) as Int
        withClue(describe()) { result shouldBe 0 }
        Gid.of(answer.toArray(JAVA_BYTE))
    }
