package org.kverbs.coroutines

/**
 * What a [MessageChannel] has done, and what it holds now; see [MessageChannel.stats]. The numbers are read one after
 * the other while it works.
 *
 * @property sent messages that were given to the device, those that publish among them
 * @property received messages that came, with what the peer says of its own: what it takes and publishes
 * @property credits short messages that the peer can take now
 * @property waitingSends sends that wait until the peer can take a message
 * @property waitingMessages messages that came or were announced, and that nobody has received
 */
public data class ChannelStats(
    public val sent: Long,
    public val received: Long,
    public val credits: Int,
    public val waitingSends: Int,
    public val waitingMessages: Int,
)
