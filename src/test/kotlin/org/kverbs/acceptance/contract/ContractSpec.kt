package org.kverbs.acceptance.contract

import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.core.test.TestCase
import io.kotest.matchers.collections.shouldBeEmpty
import org.kverbs.Diagnostics
import org.kverbs.embedded.BufferMisuse.Kind.OVERLAP
import org.kverbs.embedded.EmbeddedProvider
import kotlin.time.Duration
import kotlin.time.Duration.Companion.minutes

/**
 * A spec that runs the same cases on every device:
 * ```
 * class ReadSpec : ContractSpec({
 *     case("should read the peer's bytes", RAW_CONNECT) {
 *         val (a, b) = linked()
 *         ...
 *     }
 * })
 * ```
 */
internal abstract class ContractSpec(
    cases: Contract.() -> Unit,
) : FunSpec({ devicesUnderTest.forEach { Contract(this, it).cases() } })

/** Where the cases for one device are declared. */
internal class Contract(
    private val spec: FunSpec,
    val device: DeviceUnderTest,
) {
    /**
     * Adds a case, if the device can do what it needs. It gets a [Bench] with the device open, which is closed behind
     * it; then nothing that it made may be open still. An embedded device with its diagnostics on must have found it
     * right, too.
     */
    fun case(
        sentence: String,
        vararg needed: Capability,
        timeout: Duration = 3.minutes,
        body: Bench.() -> Unit,
    ) {
        if (!device.can(needed)) return
        val enabled = { _: TestCase -> device.absence?.let(Enabled::disabled) ?: Enabled.enabled }
        spec
            .test(
                "$sentence [${device.name}]",
            ).config(timeout = timeout, blockingTest = true, enabledOrReasonIf = enabled) {
                Diagnostics.enable()
                try {
                    Bench(device).use(body)
                    Diagnostics.openResources().map { it.resource().describe() }.shouldBeEmpty()
                    // Where a case looks at none of it, messages may come to the same memory.
                    EmbeddedProvider.misuses().filter { it.kind != OVERLAP }.shouldBeEmpty()
                } finally {
                    Diagnostics.disable()
                }
            }
    }
}
