package org.kverbs.cli.perf

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.cli.pingpong.LOOPBACK
import org.kverbs.cli.pingpong.Peer
import java.net.InetAddress
import java.net.ServerSocket
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
    })

private const val LOOKS = 100
