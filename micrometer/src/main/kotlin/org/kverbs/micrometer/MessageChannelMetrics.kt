package org.kverbs.micrometer

import io.micrometer.core.instrument.MeterRegistry
import io.micrometer.core.instrument.Tag
import io.micrometer.core.instrument.binder.BaseUnits
import org.kverbs.coroutines.MessageChannel

/**
 * Publishes what a message channel has done and holds: `kverbs.channel.sent`, `.received` in messages (counters),
 * `.credits`, `.sends.waiting` and `.messages.waiting` (gauges).
 *
 * @param tags tell this channel from others, such as the peer's name. Close the binder with the channel: otherwise the
 *   meters of closed channels accumulate
 */
public class MessageChannelMetrics(
    private val channel: MessageChannel,
    tags: Iterable<Tag>,
) : KverbsMetrics(tags) {
    override fun bindTo(registry: MeterRegistry): Unit =
        with(registry) {
            counter("kverbs.channel.sent", channel, "Messages that were posted", BaseUnits.MESSAGES) { it.stats.sent }
            counter(
                "kverbs.channel.received",
                channel,
                "Messages that arrived",
                BaseUnits.MESSAGES,
            ) { it.stats.received }
            level("kverbs.channel.credits", channel, "Messages that the peer can take now") { it.stats.credits }
            level("kverbs.channel.sends.waiting", channel, "Sends that wait for the peer") { it.stats.waitingSends }
            level(
                "kverbs.channel.messages.waiting",
                channel,
                "Messages that were not received yet",
            ) { it.stats.waitingMessages }
        }
}
