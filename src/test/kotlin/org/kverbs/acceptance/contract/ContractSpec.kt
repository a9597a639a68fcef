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
 * Runs the same cases on every device:
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
    private val cases: Contract.() -> Unit,
) : FunSpec({ devicesUnderTest.forEach { Contract(this, it).cases() } }) {
    /** Returns the sentences of the cases that a device has, whether it is there or not. */
    fun sentencesFor(device: DeviceUnderTest): Set<String> =
        object : FunSpec() {}
            .also { Contract(it, device).cases() }
            .tests()
            .mapTo(HashSet()) { it.name.name.removeSuffix(" [${device.name}]") }
}

/** Declares the cases for one device. */
internal class Contract(
    private val spec: FunSpec,
    val device: DeviceUnderTest,
) {
    /**
     * Adds a case, if the device has the capabilities that it needs. The case gets a [Bench] with the open device.
     * Afterwards the bench is closed, and no resource of the case may be open. The diagnostics of an embedded device
     * must not have found a mistake.
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
                    // Messages that a case does not look at may go to the same memory.
                    EmbeddedProvider.misuses().filter { it.kind != OVERLAP }.shouldBeEmpty()
                } finally {
                    Diagnostics.disable()
                }
            }
    }
}
