package org.kverbs.micrometer

import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tag
import io.micrometer.core.instrument.binder.BaseUnits
import org.kverbs.coroutines.BufferPool

/**
 * Publishes what a pool of registered buffers holds, as gauges: `kverbs.pool.capacity`, `.registered`, `.taken` in bytes,
 * `.buffers.taken` and `.waiting`.
 *
 * @param tags tell this pool from others
 */
public class BufferPoolMetrics(
    private val pool: BufferPool,
    tags: Iterable<Tag>,
) : KverbsMetrics(tags) {
    override fun bindTo(registry: MeterRegistry): Unit =
        with(registry) {
            level("kverbs.pool.capacity", pool, "Bytes that can be registered", BaseUnits.BYTES) { it.stats.capacity }
            level("kverbs.pool.registered", pool, "Bytes that are registered", BaseUnits.BYTES) { it.stats.registered }
            level("kverbs.pool.taken", pool, "Bytes that are lent", BaseUnits.BYTES) { it.stats.takenBytes }
            level("kverbs.pool.buffers.taken", pool, "Buffers that are lent") { it.stats.taken }
            level("kverbs.pool.waiting", pool, "Callers that wait for a buffer") { it.stats.waiting }
        }
}
