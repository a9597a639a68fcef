package org.kverbs.benchmarks.bench

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.doubles.shouldBeGreaterThan
import io.netty.channel.nio.NioIoHandler
import io.netty.channel.socket.nio.NioServerSocketChannel
import io.netty.channel.socket.nio.NioSocketChannel
import org.kverbs.embedded.EmbeddedFabric

/** The contenders that every machine has, measured for a moment: each end gets what the other sends, and both end. */
internal class ExchangeSpec :
    FunSpec({
        timeout = 60_000

        val fabric = EmbeddedFabric.realTime(1)
        val exchanges: Map<String, () -> Exchange> =
            mapOf(
                "TCP" to { TcpExchange() },
                "Netty" to {
                    NettyExchange(
                        NioIoHandler::newFactory,
                        NioServerSocketChannel::class.java,
                        NioSocketChannel::class.java,
                    )
                },
                "verbs" to { VerbsExchange(fabric.addDevice(), fabric.addDevice()) },
            )
        for ((name, open) in exchanges) {
            test("should measure every case by $name") {
                open().use { exchange ->
                    Trial(exchange, millis = 5).use { trial ->
                        Case.entries.forEach { trial.measure(it) shouldBeGreaterThan 0.0 }
                    }
                }
            }
        }

        afterSpec { fabric.close() }
    })
