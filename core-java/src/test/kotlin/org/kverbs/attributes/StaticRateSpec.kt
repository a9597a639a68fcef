package org.kverbs.attributes

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.matchers.shouldBe
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.SymbolLookup
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.invoke.MethodHandle

/** The installed libibverbs, or null. */
private val library: SymbolLookup? by lazy {
    runCatching { SymbolLookup.libraryLookup("libibverbs.so.1", Arena.global()) }.getOrNull()
}

private val present: Enabled
    get() =
        if (library != null || System.getenv("KVERBS_REQUIRE_TOOLS") == "1") {
            Enabled.enabled
        } else {
            Enabled.disabled("libibverbs is missing: run 'apt-get install libibverbs1', or ./verify, which does.")
        }

private fun call(
    name: String,
    value: Int,
): Int = handle(name).invokeWithArguments(value) as Int

private fun handle(name: String): MethodHandle =
    Linker.nativeLinker().downcallHandle(
        checkNotNull(library).find(name).orElseThrow(),
        FunctionDescriptor.of(JAVA_INT, JAVA_INT),
    )

class StaticRateSpec :
    FunSpec({
        test("should convert rates as libibverbs does").config(enabledOrReasonIf = { present }) {
            for (rate in StaticRate.entries - StaticRate.UNKNOWN) {
                withClue("$rate") {
                    rate.mbps() shouldBe call("ibv_rate_to_mbps", rate.code())
                    rate.multiple() shouldBe call("ibv_rate_to_mult", rate.code())
                }
            }
        }

        test("should find the rate of a number as libibverbs does").config(enabledOrReasonIf = { present }) {
            for (number in 1..500) {
                val found = StaticRate.ofMultiple(number)
                withClue("$number") {
                    call("mult_to_ibv_rate", number) shouldBe (if (found == StaticRate.UNKNOWN) 0 else found.code())
                }
            }
            for (number in StaticRate.entries.map { it.mbps() }.filter { it > 0 } + listOf(1, 7777)) {
                val found = StaticRate.ofMbps(number)
                withClue("$number") {
                    call("mbps_to_ibv_rate", number) shouldBe (if (found == StaticRate.UNKNOWN) 0 else found.code())
                }
            }
        }

        test("should have no rate for a number that is none") {
            listOf(0, -1, 3, 7).forEach { StaticRate.ofMultiple(it) shouldBe StaticRate.UNKNOWN }
            listOf(0, -1, 2499).forEach { StaticRate.ofMbps(it) shouldBe StaticRate.UNKNOWN }
        }
    })
