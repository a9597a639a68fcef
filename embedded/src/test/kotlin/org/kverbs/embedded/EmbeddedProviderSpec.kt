package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.RdmaException
import org.kverbs.cm.ConnectionEventChannel
import org.kverbs.cm.PortSpace
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.StandardProtocolFamily
import java.nio.channels.DatagramChannel
import java.time.Duration

class EmbeddedProviderSpec :
    FunSpec({
        test("should make its own devices by words, beside the configured ones") {
            val address = loopbackAddresses(1).single()
            val provider = EmbeddedProvider("memory, udp:$address,memory")
            val devices = provider.devices().map { Device.of(provider, it) }
            devices.map { it.name() } shouldBe listOf("embedded0", "embedded1", "embedded2")
            val gids =
                devices.map { device ->
                    device.open().use { it.queryGid(1, it.defaultGidIndex(1)).toCompactString() }
                }
            gids shouldBe listOf("::ffff:198.18.0.1", "::ffff:$address", "::ffff:198.18.0.2")
            provider.devices() shouldBe provider.devices()
            EmbeddedProvider().devices().first() shouldNotBe provider.devices().first()
        }

        test("should find the same device equal in two lists, and those of another provider not") {
            val provider = EmbeddedProvider("memory,memory")
            val (first, second) = List(2) { provider.devices().map { Device.of(provider, it) } }
            first shouldBe second
            first.toSet() shouldBe second.toSet()
            first[0] shouldNotBe first[1]
            val other = EmbeddedProvider("memory,memory")
            Device.of(other, other.devices().first()) shouldNotBe first[0]
            Device.list() shouldBe Device.list()
        }

        test("should give each provider that asks for a free address another one, before devices are open") {
            val devices = List(3) { EmbeddedProvider("udp") }.map { Device.of(it, it.devices().single()) }
            val contexts = devices.map { it.open() }
            try {
                contexts.map { it.queryGid(1, it.defaultGidIndex(1)) }.toSet().size shouldBe 3
            } finally {
                contexts.forEach { it.close() }
            }
        }

        test("should make no device for the word none") {
            EmbeddedProvider(" none ").devices() shouldBe emptyList()
        }

        test("should tell a program that finds no device that the configuration turned the embedded devices off") {
            val java = "${System.getProperty("java.home")}/bin/java"
            val classPath = System.getProperty("java.class.path")
            val asked =
                ProcessBuilder(
                    java,
                    "-cp",
                    classPath,
                    "-Dkverbs.embedded=none",
                    "--enable-native-access=ALL-UNNAMED",
                    SeekingProgram.NAME,
                ).redirectErrorStream(true)
                    .start()
            val answer = asked.inputReader().use { it.readText() }
            asked.waitFor() shouldBe 0
            answer shouldContain "is turned off: KVERBS_EMBEDDED or -Dkverbs.embedded says none."
        }

        listOf(
            "" to "''",
            "memory,,memory" to "''",
            "memory," to "''",
            "," to "''",
            "none,memory" to "'none'",
            "udp:" to "'' is not an IPv4",
            "udp:224.0.0.5" to "'224.0.0.5' stands for several",
            "udp:ff02::1" to "'ff02::1' stands for several",
            "udp:0.0.0.0" to "'0.0.0.0' stands for several",
            "udp:::" to "'::' stands for several",
            "udp:255.255.255.255" to "'255.255.255.255' stands for several",
            "udp:localhost" to "'localhost' is not an IPv4",
        ).forEach { (words, named) ->
            test("should refuse the words '$words', and name the wrong one") {
                shouldThrow<IllegalArgumentException> { EmbeddedProvider(words) }.message shouldContain named
            }
        }

        test("should name the property and the variable when the configuration is wrong") {
            System.setProperty("kverbs.embedded", "memory,card")
            try {
                val message = shouldThrow<RdmaException> { Configuration.read() }.message
                message shouldContain "kverbs.embedded"
                message shouldContain "KVERBS_EMBEDDED"
                message shouldContain "'card' is not a kind of device"
            } finally {
                System.clearProperty("kverbs.embedded")
            }
        }

        test("should tell the cure for an address that is taken, or that belongs to another machine") {
            val address = loopbackAddresses(1).single()
            val provider = EmbeddedProvider("udp:$address,udp:$address,udp:192.0.2.1")
            val (one, same, foreign) = provider.devices().map { Device.of(provider, it) }
            one.open().use {
                shouldThrow<RdmaException> { same.open() }.message shouldContain "UDP port 4791 of $address is taken"
            }
            shouldThrow<RdmaException> { foreign.open() }.message shouldContain "not this machine's"
        }

        for ((what, use) in mapOf<String, (ConnectionEventChannel, InetAddress) -> Unit>(
            "listens at every address" to { channel, _ ->
                channel.id(PortSpace.TCP).use { id ->
                    id.bind(InetSocketAddress(InetAddress.ofLiteral("0.0.0.0"), 7471))
                    id.listen(1)
                }
            },
            "binds to it" to
                { channel, taken -> channel.id(PortSpace.TCP).use { it.bind(InetSocketAddress(taken, 7471)) } },
            "connects from it" to { channel, taken ->
                channel.id(PortSpace.TCP).use { id ->
                    id.resolveAddress(InetSocketAddress(taken, 7471), Duration.ofSeconds(10))
                    checkNotNull(channel.awaitEvent(Duration.ofSeconds(10))).orThrow()
                }
            },
        )) {
            test("should tell a program that $what that another process has the UDP port of the device") {
                val taken = InetAddress.ofLiteral(loopbackAddresses(1).single())
                DatagramChannel.open(StandardProtocolFamily.INET).use { other ->
                    other.bind(InetSocketAddress(taken, 4791))
                    val provider = EmbeddedProvider("udp:${taken.hostAddress}")
                    ConnectionEventChannel.open(Device.of(provider, provider.devices().single())).use { channel ->
                        val message = shouldThrow<RdmaException> { use(channel, taken) }.message
                        message shouldContain "EADDRINUSE"
                        val which = if ("connects" in what) "this side's embedded device" else taken.hostAddress
                        message shouldContain "UDP port 4791 of $which is taken"
                    }
                }
            }
        }
    })

/** Looks for an embedded device, and prints why none was found. */
internal object SeekingProgram {
    val NAME: String = SeekingProgram::class.java.name

    @JvmStatic
    fun main(args: Array<String>) {
        println(shouldThrow<RdmaException> { Device.byName("embedded0") }.message)
    }
}
