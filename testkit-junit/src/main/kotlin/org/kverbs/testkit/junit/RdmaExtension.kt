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
 * Fails each test that leaves a resource open, and gives tests their own embedded devices.
 *
 * ```
 * @ExtendWith(RdmaExtension.class)
 * class SessionTest {
 *     @Test
 *     void shouldOpenASession(EmbeddedFabric fabric, Device client, Device server) { ... }
 * }
 * ```
 *
 * **Leaks.** The message names each resource and shows where it was opened. Tests may run in parallel; [LeakWatch]
 * describes which resources belong to a test. A resource that `@BeforeAll` opened is not a leak, nor is one that
 * `@AfterEach` closes. A failed test is not checked.
 *
 * **Devices.** A parameter of type [EmbeddedFabric] is a new fabric with a virtual clock, closed after the test. Each
 * parameter of type [Device] is a new device of this fabric. Methods with `@BeforeEach` and `@AfterEach` share the
 * test's fabric.
 */
public class RdmaExtension :
    BeforeEachCallback,
    AfterEachCallback,
    ParameterResolver {
    /** Notes the resources that are open before the test. */
    override fun beforeEach(context: ExtensionContext) {
        context.store().put(LeakWatch::class, LeakWatch())
    }

    /** Closes the test's fabric, and fails a test that passed but left a resource open. */
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

    /** Tells whether a test asks for a fabric or a device. */
    override fun supportsParameter(
        parameter: ParameterContext,
        context: ExtensionContext,
    ): Boolean =
        parameter.parameter.type.let { it == EmbeddedFabric::class.java || it == Device::class.java } &&
            context.testMethod.isPresent

    /** Returns the test's fabric, or a new device of it. */
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
