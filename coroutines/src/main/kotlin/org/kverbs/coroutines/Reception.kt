package org.kverbs.coroutines

import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.isActive
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.ConnectionException
import org.kverbs.ConnectionStep
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

/** Lets clients into an [RdmaServer], within its limits, and counts them. */
internal class Reception(
    private val settings: ServerBuilder,
) {
    /** The connections that are up. */
    val open: MutableSet<MessageConnection> = ConcurrentHashMap.newKeySet()
    private val halfOpen = HalfOpen { minOf(settings.maxHalfOpen, maxOf(0, settings.maxConnections - open.size)) }
    private val accepted = LongAdder()
    private val refused = LongAdder()
    private val failed = LongAdder()

    val stats get() = ServerStats(open.size, halfOpen.count, accepted.sum(), refused.sum(), failed.sum())

    /**
     * Accepts a request, runs [block] with the connection, and closes it.
     *
     * @throws Throwable why the client was not let in, or what the block throws
     */
    suspend fun admitted(
        request: ConnectionRequest,
        block: suspend (MessageConnection) -> Unit,
    ) {
        var connection: MessageConnection? = null
        try {
            request.requireHello()
            val hasRoom =
                halfOpen.inPlace(request.remoteAddress?.address) {
                    connection = accept(request).also { open += it }
                }
            if (!hasRoom) {
                throw request.refused(
                    "full",
                    "the server has all the ${settings.maxConnections} connections that it takes (maxConnections)",
                )
            }
            accepted.increment()
            connection?.let { block(it) }
        } catch (e: Throwable) {
            if (currentCoroutineContext().isActive) (if (connection == null) refused else failed).increment() // or else the server ends
            throw e
        } finally {
            connection?.let {
                open -= it
                it.close()
                halfOpen.admit()
            }
        }
    }

    private suspend fun accept(request: ConnectionRequest): MessageConnection {
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

    fun failed(
        request: ConnectionRequest,
        failure: Throwable,
    ) {
        val told =
            settings.onFailure ?: { FailureLog.connections.add("the connection from ${request.remoteAddress} failed: $it", it) }
        told(failure)
    }
}
