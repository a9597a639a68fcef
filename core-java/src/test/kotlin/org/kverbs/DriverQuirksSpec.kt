package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.Option.COMPLETE
import org.kverbs.NullVerbs.Option.LACKS
import org.kverbs.NullVerbs.Trait
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.CompletionField
import org.kverbs.attributes.Feature
import org.kverbs.attributes.MemoryAdvice
import org.kverbs.attributes.RateLimit
import org.kverbs.internal.abi.Errno
import org.kverbs.internal.abi.runProgram
import java.lang.foreign.MemorySegment
import java.nio.file.Path
import java.time.Duration
import kotlin.reflect.KClass

/** Tests what single drivers of rdma-core and old kernels answer otherwise than the others. */
internal class DriverQuirksSpec :
    FunSpec({
        onNullDevice()

        val shown = listOf(Feature.DEVICE_MEMORY, Feature.RATE_LIMIT, Feature.XRC)

        test("should not take a driver's call for a feature that the attributes of the device do not show") {
            NullVerbs.set(Trait.FOREIGN)
            NullBench().use { bench -> shown.filter { bench.context.supports(it) } shouldBe shown }
            NullVerbs.set(Trait.FOREIGN, Trait.BARE)
            NullBench().use { bench -> shown.filter { bench.context.supports(it) } shouldBe emptyList() }
        }

        test("should name the feature whatever errno the call of a device without it has") {
            NullVerbs.set(Trait.BARE)
            NullBench().use { bench ->
                val qp = bench.queuePair()
                NullVerbs.set(LACKS, Errno.EINVAL)
                val calls =
                    mapOf<Feature, () -> Unit>(
                        Feature.DEVICE_MEMORY to { bench.context.deviceMemory(64) },
                        Feature.RATE_LIMIT to { qp.limitRate(RateLimit.ofKbps(1)) },
                        Feature.XRC to { bench.context.xrcDomain() },
                    )
                for ((feature, call) in calls) {
                    shouldThrow<UnsupportedVerbException> { call() }.message shouldContain feature.needs()
                }
                NullVerbs.set(LACKS, 0)
            }
        }

        test("should know that Soft-RoCE has advice, though by a function of the library") {
            NullVerbs.set(Trait.LIKE_RXE)
            NullBench().use { bench -> bench.context.supports(Feature.MEMORY_ADVICE) shouldBe true }
        }

        test("should ask the device once a context") {
            NullBench().use { bench ->
                val before = NullVerbs.queries()
                repeat(4) { bench.context.supports(Feature.FLUSH) }
                NullVerbs.queries() - before shouldBe 1
                repeat(4) { bench.queuePair().connect(bench.queuePair().endpoint()) }
                NullVerbs.queries() - before shouldBe 1
            }
        }

        test("should say that a kernel without a call lacks the feature") {
            NullBench().use { bench ->
                val region = bench.pd.memoryRegion(64, LOCAL_WRITE)
                NullVerbs.set(LACKS, Errno.EPROTONOSUPPORT)
                val calls =
                    mapOf<String, () -> Unit>(
                        "ibv_alloc_td" to { bench.context.threadDomain() },
                        "ibv_alloc_null_mr" to { bench.pd.nullRegion() },
                        "ibv_alloc_dm" to { bench.context.deviceMemory(64) },
                        "ibv_advise_mr" to { bench.pd.advise(MemoryAdvice.PREFETCH, region.slice()) },
                        "ibv_open_xrcd" to { bench.context.xrcDomain() },
                        "ibv_create_cq_ex" to { bench.queueOf(CompletionField.TIMESTAMP) },
                    )
                for ((verb, call) in calls) {
                    withClue(verb) {
                        val missing = shouldThrow<UnsupportedVerbException> { call() }
                        (missing.operation() to missing.errnoName()) shouldBe (verb to "EPROTONOSUPPORT")
                    }
                }
                NullVerbs.set(LACKS, 0)
            }
        }

        test("should make a queue with timestamps where a completion has either these or the sender, as on mlx4") {
            NullVerbs.set(Trait.LIKE_MLX4)
            NullVerbs.set(COMPLETE, 1)
            NullBench().use { bench ->
                val stamped = bench.queueOf(CompletionField.TIMESTAMP)
                NullVerbs.complete(stamped, listOf(7))
                val done = stamped.await(1, Duration.ofSeconds(5)).single()
                done.completionTimestamp() shouldBe 70
                done.sourceLid() shouldBe 0
                done.serviceLevel() shouldBe 0
            }
        }

        test("should refuse to copy by functions that the driver has not set, as mana leaves them") {
            NullVerbs.set(Trait.LIKE_MANA)
            NullBench().use { bench ->
                val memory = bench.context.deviceMemory(64)
                for (copy in listOf<(MemorySegment) -> Unit>({ memory.copyFrom(0, it) }, { memory.copyTo(0, it) })) {
                    shouldThrow<UnsupportedVerbException> { copy(MemorySegment.ofArray(ByteArray(8))) }
                        .message shouldContain "those of mana with 62 but without copies"
                }
            }
        }

        test("should say how to end a limit of the rate where the device refuses it") {
            NullBench().use { bench ->
                shouldThrow<RdmaSystemException> { bench.queuePair().limitRate(RateLimit.ofKbps(13)) }
                    .message shouldContain "set the highest rate instead of RateLimit.NONE"
            }
        }

        test("should make a parent domain of a parent domain from the domain at the root") {
            NullBench().use { bench ->
                val outer = bench.pd.parentDomain(bench.context.threadDomain())
                val inner = outer.parentDomain()
                inner.parent() shouldBe outer
                inner.threadDomain() shouldBe null
                val other = bench.context.protectionDomain()
                listOf(bench.pd, outer, inner, other).map { inner.sharesMemoryWith(it) } shouldBe
                    listOf(true, true, true, false)
            }
        }

        test("should tell the speed of a port only where the driver does") {
            PortSpeedProgram.run() shouldBe "true 100000"
            PortSpeedProgram.run("NULL_SPEEDLESS" to "1") shouldBe "false EOPNOTSUPP"
        }
    })

private fun NullBench.queueOf(vararg fields: CompletionField): CompletionQueue =
    context.completionQueue(CompletionQueueAttributes.of(16).with(*fields))

/** Prints what a device of rdma-core 62 says of the speed of its port. */
internal object PortSpeedProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        check(arguments.isEmpty())
        Device.first().open().use { context ->
            val speed =
                try {
                    "${context.queryPortSpeed(1)}"
                } catch (e: UnsupportedVerbException) {
                    e.errnoName()
                }
            println("${context.supports(Feature.PORT_SPEED)} $speed")
        }
    }

    fun run(vararg environment: Pair<String, String>): String {
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val classes = listOf<KClass<*>>(PortSpeedProgram::class, Device::class, Unit::class)
        val classPath =
            classes.joinToString(":") {
                Path.of(it.java.protectionDomain.codeSource.location.toURI()).toString()
            }
        val options = listOf("--enable-native-access=ALL-UNNAMED", "-Dkverbs.libibverbs=${NullVerbs.ofRelease(62)}")
        val command = listOf(java) + options + listOf("-cp", classPath, PortSpeedProgram::class.java.name)
        return runProgram(*command.toTypedArray(), environment = mapOf(*environment)).trim()
    }
}
