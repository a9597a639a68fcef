package org.kverbs.krpc

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.job
import kotlinx.rpc.krpc.KrpcTransport
import kotlinx.rpc.krpc.KrpcTransportMessage
import kotlinx.rpc.krpc.KrpcTransportMessage.BinaryMessage
import kotlinx.rpc.krpc.KrpcTransportMessage.StringMessage
import org.kverbs.RdmaException
import org.kverbs.coroutines.MessageConnection

private const val STRING: Byte = 0
private const val BINARY: Byte = 1

/**
 * Carries the messages of kRPC, each in one message of the connection: a byte for its kind, then its bytes.
 *
 * kRPC ignores the failure of a receive, and its calls wait on. Therefore the failure of a connection fails the scope
 * of the transport, which ends everything in it.
 *
 * @param endsCleanly true if the peer's orderly end ends the transport, as on a server; false if it is a failure
 */
internal class ConnectionTransport(
    private val connection: MessageConnection,
    scope: CoroutineScope,
    private val endsCleanly: Boolean,
) : KrpcTransport {
    private val job = Job(scope.coroutineContext.job)
    override val coroutineContext = scope.coroutineContext + job

    @Volatile
    private var isEnding = false

    /** Declares that the end of the connection is no failure from now on. */
    fun expectEnd() {
        isEnding = true
    }

    override suspend fun send(message: KrpcTransportMessage): Unit =
        connection.send(
            when (message) {
                is StringMessage -> byteArrayOf(STRING) + message.value.encodeToByteArray()
                is BinaryMessage -> byteArrayOf(BINARY) + message.value
            },
        )

    override suspend fun receive(): KrpcTransportMessage =
        try {
            val message = if (endsCleanly) connection.receiveOrNull() else connection.receive()
            if (message == null) end() else decode(message)
        } catch (e: CancellationException) {
            throw e
        } catch (e: Exception) {
            if (!isEnding) job.completeExceptionally(e)
            job.cancel()
            throw e
        }

    private fun end(): Nothing {
        val end = CancellationException("the client has finished")
        job.cancel(end)
        throw end
    }

    private fun decode(message: ByteArray): KrpcTransportMessage =
        when (val kind = message.firstOrNull()) {
            STRING -> StringMessage(message.decodeToString(1))

            BINARY -> BinaryMessage(message.copyOfRange(1, message.size))

            else -> throw RdmaException(
                "the peer speaks no kRPC: its message of ${message.size} bytes begins with ${kind ?: "nothing"}. " +
                    "Call serveKrpc at one end and krpcClient at the other",
            )
        }
}
