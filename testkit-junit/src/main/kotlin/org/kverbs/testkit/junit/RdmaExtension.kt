package org.kverbs.testkit.junit

import org.junit.jupiter.api.extension.AfterEachCallback
import org.junit.jupiter.api.extension.BeforeEachCallback
import org.junit.jupiter.api.extension.ExtensionContext
import org.junit.jupiter.api.extension.ParameterContext
import org.junit.jupiter.api.extension.ParameterResolver
import org.kverbs.Device
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.testkit.LeakWatch

/**
 * Fails each test that leaves open what it opened, and gives it embedded devices of its own.
 *
 * ```
 * @ExtendWith(RdmaExtension.class)
 * class SessionTest {
 *     @Test
 *     void shouldOpenASession(EmbeddedFabric fabric, Device client, Device server) { ... }
 * }
 * ```
 *
 * **Leaks.** The message names each resource and shows where it was opened. Tests may run in parallel; what belongs to
 * a test is said at [LeakWatch]. What `@BeforeAll` opened is no leak, nor what `@AfterEach` closes. A test that failed
 * is left as it is.
 *
 * **Devices.** A parameter of type [EmbeddedFabric] is a fabric of the test's own with a virtual clock, closed after
 * the test; one of type [Device] is a new device of this fabric, each another. Methods with `@BeforeEach` and
 * `@AfterEach` share the test's fabric.
 */
public class RdmaExtension :
    BeforeEachCallback,
    AfterEachCallback,
    ParameterResolver {
    /** Notes what is open before the test. */
    override fun beforeEach(context: ExtensionContext) {
        context.store().put(LeakWatch::class, LeakWatch())
    }

    /** Closes the test's fabric, and fails a test that passed but left something open. */
    override fun afterEach(context: ExtensionContext) {
        val watch = context.store().remove(LeakWatch::class, LeakWatch::class.java) ?: return
        val fabric = context.store().remove(EmbeddedFabric::class, EmbeddedFabric::class.java)
        (fabric ?: AutoCloseable { }).use {
            watch.use {
                if (fabric != null) watch.include(fabric)
                if (context.executionException.isEmpty) watch.check()
            }
        }
    }

    /** Whether a test asks for a fabric or a device. */
    override fun supportsParameter(
        parameter: ParameterContext,
        context: ExtensionContext,
    ): Boolean =
        parameter.parameter.type.let { it == EmbeddedFabric::class.java || it == Device::class.java } &&
            context.testMethod.isPresent

    /** Gives the test's fabric, or a new device of that. */
    override fun resolveParameter(
        parameter: ParameterContext,
        context: ExtensionContext,
    ): Any {
        val fabric =
            context.store().computeIfAbsent(
                EmbeddedFabric::class,
                { EmbeddedFabric.virtual(1) },
                EmbeddedFabric::class.java,
            )
        return if (parameter.parameter.type == Device::class.java) fabric.addDevice() else fabric
    }

    private fun ExtensionContext.store() = getStore(ExtensionContext.Namespace.create(RdmaExtension::class))
}
