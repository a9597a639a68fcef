package org.kverbs.coroutines

import org.kverbs.Context
import org.kverbs.ProtectionDomain

/** A device that an [RdmaHost] has opened, and what its connections share there. It belongs to the host. */
public class RdmaNode internal constructor(
    /** The open device. */
    public val context: Context,
    dispatcher: CompletionDispatcherBuilder.() -> Unit,
) : AutoCloseable {
    /** Where memory for its connections is registered. */
    public val pd: ProtectionDomain = context.protectionDomain()

    /** Takes the completions of all its connections. */
    public val dispatcher: CompletionDispatcher = context.completionDispatcher(dispatcher)

    override fun close(): Unit = closeAll(dispatcher, context)

    override fun toString(): String = context.describe()
}
