package org.kverbs.serialization

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.BinaryFormat

/** Answers the requests of one method. */
internal fun interface Handler {
    /**
     * Runs the user's code, sends the items of a stream by [send], and returns the frame that ends the request. Throws
     * what the user's code throws.
     */
    suspend fun answer(
        request: Frame.Request,
        format: BinaryFormat,
        send: suspend (item: ByteArray) -> Unit,
    ): Frame
}

/** The peer asked for what is not here; the user's code had no part in it. */
internal class RefusedRequestException(
    message: String,
) : RuntimeException(message)

internal fun <Request : Any, Answer : Any> single(
    method: Method<Request, Answer>,
    handler: suspend (Request) -> Answer,
): Handler =
    Handler { request, format, _ ->
        if (request.credits > 0) throw RefusedRequestException("\"${method.name}\" gives one answer and no stream")
        val answer = handler(format.decode(method.request, request.payload))
        Frame.Answer(request.id, format.encodeToByteArray(method.answer, answer))
    }

internal fun <Request : Any, Item : Any> stream(
    method: StreamMethod<Request, Item>,
    handler: suspend (Request) -> Flow<Item>,
): Handler =
    Handler { request, format, send ->
        if (request.credits == 0) throw RefusedRequestException("\"${method.name}\" gives a stream and not one answer")
        handler(format.decode(method.request, request.payload))
            .collect { send(format.encodeToByteArray(method.item, it)) }
        Frame.End(request.id)
    }
