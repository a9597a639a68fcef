package org.kverbs.micrometer

import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tag
import io.micrometer.core.instrument.Tags
import org.kverbs.coroutines.CompletionDispatcher

/**
 * Publishes what a completion dispatcher has done: `kverbs.dispatcher.completions`, `.failures`, `.tasks`, `.sleeps`
 * (counters), `.entries` and `.entries.reserved` (gauges). Each has the tag `device`, and [tags].
 */
public class CompletionDispatcherMetrics(
    private val dispatcher: CompletionDispatcher,
    tags: Iterable<Tag> = emptyList(),
) : KverbsMetrics(Tags.of("device", dispatcher.context.device().name()).and(tags)) {
    override fun bindTo(registry: MeterRegistry): Unit =
        with(registry) {
            counter(
                "kverbs.dispatcher.completions",
                dispatcher,
                "Completions that were taken",
            ) { it.stats.completions }
            counter("kverbs.dispatcher.failures", dispatcher, "Requests that failed") { it.stats.failures }
            counter("kverbs.dispatcher.tasks", dispatcher, "Tasks that ran on the polling thread") { it.stats.tasks }
            counter("kverbs.dispatcher.sleeps", dispatcher, "Waits of the polling thread") { it.stats.sleeps }
            level("kverbs.dispatcher.entries", dispatcher, "Entries of the completion queues") { it.stats.entries }
            level(
                "kverbs.dispatcher.entries.reserved",
                dispatcher,
                "Entries that requests can fill",
            ) { it.stats.reserved }
        }
}
