package org.kverbs.coroutines

import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.isActive
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionStep
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

/** Accepts the clients of an [RdmaServer] within its limits, and counts them. */
internal class Reception(
    private val host: RdmaHost,
    private val settings: ServerBuilder,
) {
    private val memory = ServerMemory(settings.maxMemory)
    private val channelSettings = settings.channelSettings()
    private val slotBytes = MessageChannelBuilder().apply(channelSettings).slotBytes

    /** The open connections. */
    val open: MutableSet<MessageConnection> = ConcurrentHashMap.newKeySet()
    private val halfOpen = HalfOpen { minOf(settings.maxHalfOpen, maxOf(0, settings.maxConnections - open.size)) }
    private val accepted = LongAdder()
    private val refused = LongAdder()
    private val failed = LongAdder()

    val stats get() = ServerStats(open.size, halfOpen.count, accepted.sum(), refused.sum(), failed.sum(), memory.inUse)

    /**
     * Accepts a request, runs [block] with the connection, and closes it.
     *
     * @throws Throwable the reason why the client was refused, or the exception of the block
     */
    suspend fun admitted(
        request: ConnectionRequest,
        block: suspend (MessageConnection) -> Unit,
    ) {
        var connection: MessageConnection? = null
        val share = memory.Share()
        try {
            request.requireHello()
            val hasRoom =
                halfOpen.inPlace(request.remoteAddress?.address) {
                    connection = accept(request, share).also { open += it }
                }
            if (!hasRoom) {
                throw request.refused(
                    Rejection.FULL,
                    "the server has all the ${settings.maxConnections} connections that it takes (maxConnections)",
                )
            }
            accepted.increment()
            connection?.let { block(it) }
        } catch (e: Throwable) {
            val count = if (connection == null) refused else failed
            if (currentCoroutineContext().isActive) count.increment() // otherwise the server ends
            throw e
        } finally {
            try {
                connection?.close()
            } finally {
                // Before the connection leaves the set: a server without connections holds no memory.
                share.close()
                connection?.let(open::remove)
                halfOpen.admit()
            }
        }
    }

    private suspend fun accept(
        request: ConnectionRequest,
        share: ServerMemory.Share,
    ): MessageConnection {
        val decide = settings.authorize
        if (decide != null) {
            val isWelcome = withTimeoutOrNull(settings.timeout) { decide(ClientRequest(request)) }
            if (isWelcome == null) {
                val why = "the server's authorize hook did not decide within ${settings.timeout}"
                throw request.refused(Rejection.UNDECIDED, why)
            }
            if (!isWelcome) {
                throw request.refused(Rejection.NOT_AUTHORIZED, "the server's authorize hook did not let it in")
            }
        }
        val hasRoom = share.tryTake(slotBytes)
        if (!hasRoom) {
            val why = "the connections hold all ${settings.maxMemory} bytes of the server (maxMemory)"
            throw request.refused(Rejection.FULL, why)
        }
        val setUp =
            host.channelSetUp(ByteArray(0), settings.timeout, settings.isShared) {
                channelSettings()
                memoryShare = share
            }
        return request.acceptMessages(setUp)
    }

    private fun ConnectionRequest.refused(
        reason: Rejection,
        why: String,
    ): ConnectionException {
        refuse(reason.encode())
        return ConnectionException(ConnectionStep.ACCEPT, remoteAddress, 0, why)
    }

    fun failed(
        request: ConnectionRequest,
        failure: Throwable,
    ) {
        val told =
            settings.onFailure
                ?: {
                    val line = "the connection from ${request.remoteAddress.shown()} failed: $it"
                    FailureLog.connections.add(line, it)
                }
        told(failure)
    }
}
