package org.kverbs.coroutines

import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.ConnectionException
import org.kverbs.ConnectionStep
import java.util.concurrent.atomic.AtomicInteger

/** Lets clients into an [RdmaServer], within its limits. */
internal class Reception(
    private val settings: ServerBuilder,
) {
    private val halfOpen = Semaphore(settings.maxHalfOpen)
    private val clients = AtomicInteger()

    /** Accepts a request, and runs [block] with the connection; what does not come in is rejected, and thrown. */
    suspend fun admitted(
        request: ConnectionRequest,
        block: suspend (MessageConnection) -> Unit,
    ) {
        request.requireHello()
        try {
            if (clients.incrementAndGet() > settings.maxConnections) {
                throw request.refused(
                    "full",
                    "the server has all the ${settings.maxConnections} connections that it takes (maxConnections)",
                )
            }
            block(halfOpen.withPermit { accepted(request) })
        } finally {
            clients.decrementAndGet()
        }
    }

    private suspend fun accepted(request: ConnectionRequest): MessageConnection {
        val decide = settings.authorize
        if (decide != null && withTimeoutOrNull(settings.timeout) { decide(ClientRequest(request)) } != true) {
            throw request.refused("not authorized", "the server's authorize hook did not let it in")
        }
        return request.acceptMessages(channelSetUp(ByteArray(0), settings.timeout, settings.isShared, settings.channelSettings()))
    }

    private fun ConnectionRequest.refused(
        reason: String,
        why: String,
    ): ConnectionException {
        refuse(reason.encodeToByteArray())
        return ConnectionException(ConnectionStep.ACCEPT, remoteAddress, 0, why)
    }
}
