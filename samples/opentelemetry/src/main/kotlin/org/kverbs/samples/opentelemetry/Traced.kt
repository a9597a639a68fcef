package org.kverbs.samples.opentelemetry

import io.opentelemetry.api.OpenTelemetry
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator
import io.opentelemetry.context.propagation.ContextPropagators
import io.opentelemetry.exporter.logging.LoggingMetricExporter
import io.opentelemetry.exporter.logging.LoggingSpanExporter
import io.opentelemetry.sdk.OpenTelemetrySdk
import io.opentelemetry.sdk.metrics.SdkMeterProvider
import io.opentelemetry.sdk.metrics.export.PeriodicMetricReader
import io.opentelemetry.sdk.trace.SdkTracerProvider
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaHost
import java.net.InetSocketAddress

/**
 * Serves on an embedded device, asks three questions, and returns the answers.
 *
 * @param beforeEnd called while the server and the connection are there
 */
public suspend fun traced(
    telemetry: OpenTelemetry,
    beforeEnd: () -> Unit = {},
): List<String> =
    coroutineScope {
        val meter = telemetry.getMeter("org.kverbs.samples")
        rdmaHost { provider("embedded") }.use { host ->
            host.bind(InetSocketAddress("127.0.0.1", 0)).use { server ->
                server.serve(this) { TracedConnection(it, telemetry).answer { word -> word.reversed() } }
                host.connectMessages(server.address).use { connection ->
                    val device = connection.node.context.device()
                    meter.observe(server).use {
                        meter.observe(device).use {
                            val traced = TracedConnection(connection, telemetry)
                            val answers = listOf("one", "two", "three").map { traced.ask(it) }
                            beforeEnd()
                            connection.disconnect()
                            answers
                        }
                    }
                }
            }
        }
    }

/** Prints the spans and the metrics by the logger. A program takes the exporter of OTLP instead. */
public fun main() {
    val spans = SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(LoggingSpanExporter.create()))
    val metrics = PeriodicMetricReader.create(LoggingMetricExporter.create())
    OpenTelemetrySdk
        .builder()
        .setTracerProvider(spans.build())
        .setMeterProvider(SdkMeterProvider.builder().registerMetricReader(metrics).build())
        .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
        .build()
        .use { telemetry -> runBlocking { println(traced(telemetry)) } }
}
