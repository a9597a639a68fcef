package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.QueuePairInitAttributes
import org.kverbs.acceptance.contract.next
import org.kverbs.acceptance.contract.resolved
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairType
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.ConnectionTimeoutException
import org.kverbs.cm.PortSpace
import java.net.InetSocketAddress
import java.time.Duration

private val SHORT = Duration.ofMillis(300)

/** Checks steps without an answer, and waits that are ended. */
internal class ConnectionTimeoutSpec :
    FunSpec({
        test("should open the channel of the hardware where there is any") {
            ConnectionEventChannel.open().use {
                it.provider() shouldBe "native"
                (it.fd() > 0) shouldBe true
            }
        }

        test("should end resolving an unused address after the given time") {
            ConnectionEventChannel.open().use { channel ->
                // on the wire, where ARP asks
                channel.id(PortSpace.TCP).resolveAddress(InetSocketAddress("10.98.0.77", 7471), SHORT)
                val timeout = shouldThrow<ConnectionTimeoutException> { channel.next().orThrow() }
                timeout.message shouldBe
                    "resolving the address 10.98.0.77:7471 failed: ETIMEDOUT (Connection timed out). Nobody answers " +
                    "for the address (ARP " +
                    "or neighbour discovery): check the address, and `ping` it."
                timeout.step() shouldBe ConnectionStep.RESOLVE_ADDRESS
            }
        }

        test("should tell that there is no route to an address") {
            ConnectionEventChannel.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                val unreachable =
                    shouldThrow<ConnectionException> {
                        id.resolveAddress(InetSocketAddress("192.0.2.7", 7471), SHORT)
                        channel.next().orThrow()
                    }
                unreachable.message shouldContain
                    "resolving the address 192.0.2.7:7471 failed: ENETUNREACH (Network is unreachable). "
            }
        }

        test("should tell that no device leads to an address") {
            ip("link", "add", "plain", "type", "dummy")
            try {
                ip("addr", "add", "10.96.0.1/24", "dev", "plain")
                ip("link", "set", "plain", "up")
                ConnectionEventChannel.open().use { channel ->
                    val missing =
                        shouldThrow<ConnectionException> {
                            channel.id(PortSpace.TCP).resolveAddress(InetSocketAddress("10.96.0.7", 7471), SHORT)
                            channel.next().orThrow()
                        }
                    missing.message shouldContain
                        "resolving the address 10.96.0.7:7471 failed: ENODEV (No such device). No RDMA device leads"
                }
            } finally {
                ip("link", "del", "plain")
            }
        }

        test("should leave the wait for a silent peer to the caller, and let the id be closed during the wait") {
            ConnectionEventChannel.open().use { channel ->
                Device.byName("rxe0").open().use { context ->
                    val cq = context.completionQueue(16)
                    val qp = context.protectionDomain().queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))

                    // dummy0 does not resolve addresses
                    val id = channel.resolved(InetSocketAddress("10.99.0.77", 7471))
                    id.prepare(qp, INIT)
                    id.connect(qp, ConnectionParameters.DEFAULTS)
                    channel.awaitEvent(SHORT).shouldBeNull()
                    ConnectionTimeoutException(ConnectionStep.CONNECT, id.peerAddress(), SHORT).message shouldContain
                        "connecting to 10.99.0.77:7471 failed: no event came within 300 ms. The peer's connection " +
                        "manager does not answer"
                    id.close()
                    channel.awaitEvent(SHORT).shouldBeNull()
                }
            }
        }

        test("should end a wait for an event when the channel is closed") {
            val channel = ConnectionEventChannel.open()
            val waiter = Waiter { channel.awaitEvent(Duration.ofSeconds(30)) }
            channel.close()
            shouldThrow<IllegalStateException> { waiter.outcome() }.message shouldContain
                "connection event channel (native) is closed"
        }

        test("should end a wait for an event when the thread is interrupted") {
            ConnectionEventChannel.open().use { channel ->
                val waiter = Waiter { channel.awaitEvent(Duration.ofSeconds(30)) }
                waiter.thread.interrupt()
                shouldThrow<InterruptedException> { waiter.outcome() }.message shouldContain
                    "interrupted while waiting for an event of"
            }
        }
    })
