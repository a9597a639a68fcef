package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionStep
import java.net.InetSocketAddress

/** The [ConnectionException] of a lost connection, copied for each call that waits. */
@OptIn(ExperimentalCoroutinesApi::class)
internal class LostConnection(
    address: InetSocketAddress?,
    private val why: String,
) : ConnectionException(ConnectionStep.STAY_CONNECTED, address, 0, why),
    CopyableThrowable<LostConnection> {
    override fun createCopy(): LostConnection = LostConnection(address(), why).also { it.initCause(this) }

    override fun toString(): String = "${ConnectionException::class.java.name}: $message"
}
