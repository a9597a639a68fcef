package org.kverbs.samples.opentelemetry

import io.opentelemetry.api.OpenTelemetry
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.StatusCode
import io.opentelemetry.context.Context
import io.opentelemetry.context.propagation.TextMapGetter
import org.kverbs.coroutines.MessageConnection
import kotlin.coroutines.cancellation.CancellationException

/**
 * Asks questions over a connection, or answers them, with a span for each at both sides. The trace's identity travels in
 * the first line of a question, as the propagators of [telemetry] write it, so that the answer's span is a child of the
 * question's.
 */
public class TracedConnection(
    private val connection: MessageConnection,
    private val telemetry: OpenTelemetry,
) {
    private val tracer = telemetry.getTracer("org.kverbs.samples")
    private val propagator = telemetry.propagators.textMapPropagator

    /** Sends a question, and suspends until its answer has come. One caller at a time. */
    public suspend fun ask(question: String): String =
        spanning("ask", SpanKind.CLIENT, Context.current()) { context ->
            val headers = HashMap<String, String>()
            propagator.inject(context, headers) { to, key, value -> to?.put(key, value) }
            connection.send((headers.entries.joinToString(";") + "\n" + question).encodeToByteArray())
            connection.receive().decodeToString()
        }

    /** Answers each question until the peer disconnects. */
    public suspend fun answer(answerOf: suspend (String) -> String) {
        for (message in connection.incoming) {
            val (head, question) = message.decodeToString().split('\n', limit = 2)
            val headers =
                head.split(';').filter { '=' in it }.associate {
                    it.substringBefore('=') to
                        it.substringAfter('=')
                }
            spanning("answer", SpanKind.SERVER, propagator.extract(Context.root(), headers, Headers)) {
                connection.send(answerOf(question).encodeToByteArray())
            }
        }
    }

    private suspend fun <T> spanning(
        name: String,
        kind: SpanKind,
        parent: Context,
        call: suspend (Context) -> T,
    ): T {
        val span =
            tracer
                .spanBuilder(name)
                .setSpanKind(kind)
                .setParent(parent)
                .setAttribute("network.transport", "rdma")
                .setAttribute("network.peer.address", "${connection.remoteAddress?.address?.hostAddress}")
                .startSpan()
        try {
            return call(parent.with(span))
        } catch (e: CancellationException) {
            throw e
        } catch (e: Exception) {
            span.failed(e)
            throw e
        } finally {
            span.end()
        }
    }

    private fun Span.failed(cause: Exception) {
        recordException(cause)
        setStatus(StatusCode.ERROR)
    }

    private object Headers : TextMapGetter<Map<String, String>> {
        override fun get(
            carrier: Map<String, String>?,
            key: String,
        ): String? = carrier?.get(key)
    }
}
