package org.kverbs.samples

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.RdmaException
import java.net.InetAddress
import java.net.NetworkInterface

class DeviceAddressSpec :
    FunSpec({
        test("should take the address of an embedded device out of its GID") {
            ipAddressOf("embedded1") shouldBe InetAddress.getByName("198.18.0.2")
        }

        test("should take an IPv4 address of the device's network interface") {
            val loopback = InetAddress.getByName("127.0.0.1")
            addressOf("siw0", listOf(NetworkInterface.getByInetAddress(loopback))) shouldBe loopback
        }

        test("should say that a device has no address, and what to do") {
            shouldThrow<RdmaException> { addressOf("siw0", emptyList()) }.message shouldBe
                "connections go by IP addresses, and siw0 has no network interface that could have one: take " +
                "another device by --device"
        }
    })
