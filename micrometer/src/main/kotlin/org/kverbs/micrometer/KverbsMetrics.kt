package org.kverbs.micrometer

import io.micrometer.core.instrument.FunctionCounter
import io.micrometer.core.instrument.Gauge
import io.micrometer.core.instrument.Meter
import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tag
import io.micrometer.core.instrument.binder.MeterBinder
import java.util.concurrent.CopyOnWriteArrayList

/**
 * Publishes the figures of one object of kverbs as meters. `bindTo` registers them in a registry, or in several; [close]
 * removes them from each. The registry reads a figure when it publishes, by the object's `stats`: between two readings
 * nothing runs.
 *
 * A meter refers to its object weakly, as is the custom of Micrometer. When the program has dropped the object, gauges
 * become NaN, and counters keep their last value.
 *
 * Two objects need different tags: a registry has one meter for a name and its tags, which goes on with the figures of
 * the object that was bound first. A binder whose meters are there already adds nothing, and its [close] leaves them.
 *
 * **Threads.** Any thread can call. Binders with equal tags must not be bound to one registry at the same time.
 */
public abstract class KverbsMetrics internal constructor(
    private val tags: Iterable<Tag>,
) : MeterBinder,
    AutoCloseable {
    private class Registered(
        val registry: MeterRegistry,
        val meter: Meter,
    )

    private val registered = CopyOnWriteArrayList<Registered>()

    /** Removes the meters from the registries that they were bound to. */
    override fun close() {
        for (each in registered) {
            each.registry.remove(each.meter)
            registered.remove(each)
        }
    }

    /** Registers a number that only grows. */
    internal fun <T : Any> MeterRegistry.counter(
        name: String,
        of: T,
        text: String,
        unit: String? = null,
        more: Iterable<Tag> = emptyList(),
        value: (T) -> Number,
    ) {
        register {
            FunctionCounter
                .builder(name, of) { value(it).toDouble() }
                .description(text)
                .baseUnit(unit)
                .tags(tags)
                .tags(more)
                .register(this)
        }
    }

    /** Registers a number that grows and shrinks. */
    internal fun <T : Any> MeterRegistry.level(
        name: String,
        of: T,
        text: String,
        unit: String? = null,
        value: (T) -> Number,
    ) {
        register {
            Gauge
                .builder(name, of) { value(it).toDouble() }
                .description(text)
                .baseUnit(unit)
                .tags(tags)
                .register(this)
        }
    }

    /** Notes a meter for [close], unless the registry had it before: then it is another binder's. */
    private fun MeterRegistry.register(meter: () -> Meter) {
        val before = meters
        val made = meter()
        if (before.none { it === made }) registered.add(Registered(this, made))
    }
}
