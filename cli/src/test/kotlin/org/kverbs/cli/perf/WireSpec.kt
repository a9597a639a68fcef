package org.kverbs.cli.perf

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.cli.pingpong.LOOPBACK
import org.kverbs.cli.pingpong.Peer
import java.net.InetAddress
import java.net.ServerSocket
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.seconds

/** The TCP connection of two ends. */
internal class WireSpec :
    FunSpec({
        listOf("\n" to "a line", "\u0000" to "what perftest ends by a zero").forEach { (end, what) ->
            test("should tell $what only when all of it has come, so that an end that looks for it never waits") {
                ServerSocket(0, 1, InetAddress.getByName(LOOPBACK)).use { server ->
                    Wire.connect(Peer.Server(LOOPBACK, server.localPort), 20.seconds).use { wire ->
                        server.accept().use { peer ->
                            wire.hasArrived() shouldBe false
                            peer.getOutputStream().write("sent 1".encodeToByteArray())
                            repeat(LOOKS) {
                                Thread.sleep(1) // in one of these it comes
                                wire.hasArrived() shouldBe false
                            }
                            peer.getOutputStream().write("23$end".encodeToByteArray())
                            while (!wire.hasArrived()) Thread.onSpinWait()
                            wire.readLine() shouldBe "sent 123"
                            wire.hasArrived() shouldBe false
                        }
                    }
                }
            }
        }

        test("should wait no longer than the timeout for a line that comes byte by byte") {
            ServerSocket(0, 1, InetAddress.getByName(LOOPBACK)).use { server ->
                Wire.connect(Peer.Server(LOOPBACK, server.localPort), 1.seconds).use { wire ->
                    server.accept().use { peer ->
                        val dripping =
                            thread {
                                repeat(DRIPS) {
                                    peer.getOutputStream().write('k'.code)
                                    Thread.sleep(50)
                                }
                                peer.getOutputStream().write('\n'.code)
                            }
                        shouldThrow<PerfException> { wire.readLine() }.message shouldContain
                            "the peer has not sent a whole line within 1s (--timeout)"
                        dripping.join()
                    }
                }
            }
        }
    })

private const val LOOKS = 100

/** Together three times as long as the timeout. */
private const val DRIPS = 60
