package org.kverbs.serialization

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.launch
import org.kverbs.coroutines.MessageConnection

/** Reads the frames of a connection and gives them to the requests of the two sides. */
internal class RequestLink(
    private val connection: MessageConnection,
    private val settings: RequestsBuilder,
    private val background: CoroutineScope,
) {
    val format get() = settings.format
    val caller = Caller(background, settings.maxInFlight, ::send)
    private val answerer = Answerer(background, settings, ::send)
    private val ended = CompletableDeferred<Unit>()
    private var greeted = false

    fun start() {
        background.launch {
            // Send the hello before reading the peer's, which lets requests out.
            quietly { send(Frame.Hello(settings.maxInFlight)) }
            run()
        }
    }

    private suspend fun send(frame: Frame) = connection.send(frame.encode())

    // The reader must never send: two readers that both wait for room would wait for ever.
    private suspend fun run() {
        try {
            while (true) take(decodeFrame(connection.receiveOrNull() ?: break))
            caller.end { RequestsEndedException(it.method, null) }
            answerer.end()
            ended.complete(Unit)
        } catch (e: CancellationException) {
            throw e
        } catch (e: Throwable) {
            caller.end { RequestsEndedException(it.method, e) }
            if (e is RequestProtocolException) connection.close()
            answerer.end()
            ended.completeExceptionally(e)
        }
    }

    private suspend fun take(frame: Frame) {
        if (frame is Frame.Hello == greeted) {
            throw RequestProtocolException(
                "the peer sent ${if (greeted) "a second hello" else "another frame before its hello"}",
            )
        }
        when (frame) {
            is Frame.Hello -> {
                greeted = true
                caller.allow(frame.maxInFlight)
            }

            is Frame.Request -> {
                answerer.begin(frame)
            }

            is Frame.Cancel -> {
                answerer.cancel(frame.id)
            }

            is Frame.Credit -> {
                answerer.credit(frame)
            }

            is Frame.Answer -> {
                caller.take(frame)
            }

            is Frame.Item -> {
                caller.take(frame)
            }

            is Frame.End -> {
                caller.take(frame)
            }

            is Frame.Failure -> {
                caller.take(frame)
            }
        }
    }

    /** Suspends until the peer has finished; throws the failure if the connection fails. */
    suspend fun awaitEnd(): Unit = ended.await()

    /** Fails all calls, as the block of [requests] has ended. */
    fun close() {
        val over = IllegalStateException("the block of requests { } has ended: await the call inside it")
        caller.end { RequestsEndedException(it.method, over) }
    }
}
