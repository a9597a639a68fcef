package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.dsl.get
import java.net.InetAddress
import kotlin.time.Duration.Companion.milliseconds

private const val GRH = 40L
private val GROUP = InetAddress.ofLiteral("239.1.2.3")
private val HERE = InetAddress.ofLiteral("127.0.0.1")

/** A member with a posted receive from the start. */
private class Listening {
    lateinit var memory: MemoryRegion
    var received: Deferred<Received> = CompletableDeferred()

    val settings: ConnectionBuilder.() -> Unit = {
        prepared {
            memory = it.queuePair.protectionDomain().memoryRegion(128, LOCAL_WRITE)
            received = it.postReceive(memory[0, 64])
        }
    }
}

class RdmaMulticastSpec :
    FunSpec({
        timeout = 60_000

        test("should deliver a member's datagram to all other members but not to one that has left") {
            rdmaHost { provider("embedded") }.use { host ->
                val sender = host.joinMulticast(GROUP, at = HERE)
                val ears = List(2) { Listening() }
                val members = ears.map { host.joinMulticast(GROUP, at = HERE, settings = it.settings) }
                val gone = Listening()
                host.joinMulticast(GROUP, at = HERE, settings = gone.settings).close()
                val from = sender.pd.memoryRegion(64, LOCAL_WRITE)
                from.memory().setString(0, "to all")
                sender.queuePair.send(from[0, 7], sender.group)
                for (ear in ears) {
                    ear.received.await().length shouldBe GRH + 7
                    ear.memory.memory().getString(GRH) shouldBe "to all"
                }
                shouldThrow<IllegalStateException> { gone.received.await() }.message shouldContain "was closed"
                (members + sender).forEach { it.close() }
            }
        }

        test("should let a send-only member send but not receive") {
            rdmaHost { provider("embedded") }.use { host ->
                val deaf = Listening()
                val mute = host.joinMulticast(GROUP, at = HERE, sendOnly = true, settings = deaf.settings)
                val ear = Listening()
                val member = host.joinMulticast(GROUP, at = HERE, settings = ear.settings)
                val memory = mute.pd.memoryRegion(64, LOCAL_WRITE)
                mute.queuePair.send(memory[0, 8], mute.group)
                ear.received.await().length shouldBe GRH + 8
                member.queuePair.send(member.pd.memoryRegion(64, LOCAL_WRITE)[0, 8], member.group)
                withTimeoutOrNull(50.milliseconds) { deaf.received.await() } shouldBe null
            }
        }

        test("should refuse an address that is not a group and one that no device has, and leave nothing open") {
            rdmaHost { provider("embedded") }.use { host ->
                host.joinMulticast(GROUP, at = HERE).close() // opens the device
                Diagnostics.enable()
                try {
                    shouldThrow<IllegalArgumentException> { host.joinMulticast(HERE, at = HERE) }.message shouldContain
                        "127.0.0.1:0 is no multicast address"
                    shouldThrow<RdmaSystemException> {
                        host.joinMulticast(
                            GROUP,
                            at = InetAddress.ofLiteral("192.0.2.1"),
                        )
                    }.message shouldContain
                        "EADDRNOTAVAIL"
                    host.joinMulticast(GROUP, at = HERE).close()
                    Diagnostics.openResources().map { it.resource().describe() }.shouldBeEmpty()
                } finally {
                    Diagnostics.disable()
                }
            }
        }
    })
