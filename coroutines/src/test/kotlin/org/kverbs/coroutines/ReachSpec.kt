package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldEndWith
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.RejectReason
import org.kverbs.embedded.EmbeddedProvider

private const val OTHER_PROCESS =
    "another process, start both processes with KVERBS_EMBEDDED=udp (or -Dkverbs.embedded=udp)"

/** Tests the messages to a program whose embedded devices do not reach a service. */
class ReachSpec :
    FunSpec({
        timeout = 60_000

        test(
            "should explain that in-memory devices reach only their own process, when no program listens and when " +
                "there is no route",
        ) {
            rdmaHost { provider("embedded") }.use { host ->
                val rejected = shouldThrow<ConnectionRejectedException> { host.connect("127.0.0.1", 9) }
                rejected.reason() shouldBe RejectReason.INVALID_SERVICE_ID
                rejected.message shouldContain "Nobody listens on that port of the peer"
                rejected.message shouldContain OTHER_PROCESS
                val unreachable = shouldThrow<ConnectionException> { host.connect("192.0.2.1", 9) }
                unreachable.message shouldContain
                    "resolving the address 192.0.2.1:9 failed: EHOSTUNREACH (No route to host). The embedded"
                unreachable.message shouldContain OTHER_PROCESS
            }
        }

        test(
            "should connect to a second service of the machine at its own address, and say at the first address " +
                "where the service is",
        ) {
            udpDevice().open().use { first ->
                udpDevice().open().use { second ->
                    // the first address is in use by now
                    first.address() shouldNotBe second.address()
                    rdmaHost { device(second.device()) }.use { server ->
                        server.listen(0).use { listener ->
                            val port = listener.address.port
                            rdmaHost { device(first.device()) }.use { client ->
                                val rejected =
                                    shouldThrow<ConnectionRejectedException> { client.connect(first.address(), port) }
                                rejected.message shouldContain "; this one has ${first.address()}. A second service"
                                rejected.message shouldEndWith
                                    "with KVERBS_EMBEDDED=udp:ADDRESS when you start the service."
                                coroutineScope {
                                    val accepted = async { listener.accept() }
                                    client.connect(second.address(), port).use { accepted.await().close() }
                                }
                            }
                        }
                    }
                }
            }
        }
    })

private fun udpDevice(): Device = EmbeddedProvider("udp").let { Device.of(it, it.devices().single()) }

private fun Context.address(): String = queryGid(1, defaultGidIndex(1)).toInetAddress().hostAddress
