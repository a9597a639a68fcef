package org.kverbs.coroutines

/**
 * Describes what a [MessageChannel] has done so far, and what it holds now; see [MessageChannel.stats]. The figures are
 * read one after the other while the channel works.
 *
 * @property sent messages that were posted to the device, including publications, lookups of those, and the keep-alive
 *   of an idle channel, which is a lookup
 * @property received messages that have arrived or were announced, as the peer counts those that it has sent
 * @property credits messages that the peer can take now
 * @property waitingSends number of sends that wait until the peer can take a message
 * @property waitingMessages messages that have arrived or were announced, and were not received yet
 */
public data class ChannelStats(
    public val sent: Long,
    public val received: Long,
    public val credits: Int,
    public val waitingSends: Int,
    public val waitingMessages: Int,
)
