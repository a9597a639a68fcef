package org.kverbs.coroutines

/**
 * Describes what a [CompletionDispatcher] has done so far, and what it holds now; see [CompletionDispatcher.stats]. The
 * figures are read one after the other while the dispatcher polls. They cost the polling thread no fence.
 *
 * @property completions completions of requests that were posted by suspending calls; those of a flow are not
 *   counted
 * @property failures requests that failed; those flushed because of another failure are not counted
 * @property tasks tasks that ran on the polling thread: the resumptions of coroutines on
 *   [CompletionDispatcher.coroutineDispatcher]
 * @property sleeps how often the polling thread found nothing, and waited for an event or for a time
 * @property queues number of open completion queues
 * @property entries entries of those queues
 * @property reserved entries that queue pairs and shared receive queues have reserved for their requests
 */
public data class CompletionDispatcherStats(
    public val completions: Long,
    public val failures: Long,
    public val tasks: Long,
    public val sleeps: Long,
    public val queues: Int,
    public val entries: Int,
    public val reserved: Int,
)
