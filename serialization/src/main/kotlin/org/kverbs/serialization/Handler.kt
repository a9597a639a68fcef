package org.kverbs.serialization

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.BinaryFormat

/** Answers the requests of one method. */
internal fun interface Handler {
    /**
     * Runs the program's handler, sends the items of a stream with [send], and returns the frame that ends the request.
     * Throws the exceptions of the program's handler.
     */
    suspend fun answer(
        request: Frame.Request,
        format: BinaryFormat,
        send: suspend (item: ByteArray) -> Unit,
    ): Frame
}

/** Thrown if the peer asks for a method that this side does not have; the program's code did not run. */
internal class RefusedRequestException(
    message: String,
) : RuntimeException(message)

internal fun <Request : Any, Answer : Any> single(
    method: Method<Request, Answer>,
    handler: suspend (Request) -> Answer,
): Handler =
    Handler { request, format, _ ->
        if (request.credits >
            0
        ) {
            throw RefusedRequestException("\"${method.name}\" gives one answer and no stream: call it with call()")
        }
        val answer = handler(format.decode(method.request, request.payload))
        Frame.Answer(request.id, format.encodeToByteArray(method.answer, answer))
    }

internal fun <Request : Any, Item : Any> stream(
    method: StreamMethod<Request, Item>,
    handler: suspend (Request) -> Flow<Item>,
): Handler =
    Handler { request, format, send ->
        if (request.credits ==
            0
        ) {
            throw RefusedRequestException(
                "\"${method.name}\" gives a stream and not one answer: call it with stream()",
            )
        }
        handler(format.decode(method.request, request.payload))
            .collect { send(format.encodeToByteArray(method.item, it)) }
        Frame.End(request.id)
    }
