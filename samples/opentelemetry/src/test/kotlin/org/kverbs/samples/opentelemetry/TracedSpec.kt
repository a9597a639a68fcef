package org.kverbs.samples.opentelemetry

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.opentelemetry.api.common.AttributeKey.stringKey
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator
import io.opentelemetry.context.propagation.ContextPropagators
import io.opentelemetry.sdk.OpenTelemetrySdk
import io.opentelemetry.sdk.metrics.SdkMeterProvider
import io.opentelemetry.sdk.metrics.data.MetricData
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter
import io.opentelemetry.sdk.trace.SdkTracerProvider
import io.opentelemetry.sdk.trace.data.SpanData
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor

class TracedSpec :
    FunSpec({
        timeout = 60_000

        test("should make the answer's span a child of the question's, and export the counters") {
            val spans = InMemorySpanExporter.create()
            val reader = InMemoryMetricReader.create()
            var metrics: Collection<MetricData> = emptyList()
            var finished: List<SpanData> = emptyList()
            OpenTelemetrySdk
                .builder()
                .setTracerProvider(
                    SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build(),
                ).setMeterProvider(SdkMeterProvider.builder().registerMetricReader(reader).build())
                .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
                .build()
                .use {
                    traced(it) { metrics = reader.collectAllMetrics() } shouldBe listOf("eno", "owt", "eerht")
                    finished = spans.finishedSpanItems
                }

            val (asked, answered) = finished.partition { it.kind == SpanKind.CLIENT }
            asked shouldHaveSize 3
            answered.map { it.parentSpanId }.toSet() shouldBe asked.map { it.spanId }.toSet()
            answered.map { it.traceId }.toSet() shouldBe asked.map { it.traceId }.toSet()

            metrics.map { it.name } shouldContainAll
                listOf("kverbs.port.counter", "kverbs.server.accepted", "kverbs.server.connections")
            metrics
                .single { it.name == "kverbs.server.accepted" }
                .longSumData
                .points
                .single()
                .value shouldBe 1
            metrics
                .single { it.name == "kverbs.port.counter" }
                .longSumData
                .points
                .single { it.attributes[stringKey("counter")] == "sent_bytes" }
                .value shouldBeGreaterThan 0
        }
    })
