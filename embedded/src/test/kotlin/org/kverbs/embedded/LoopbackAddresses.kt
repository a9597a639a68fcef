package org.kverbs.embedded

import kotlin.random.Random

/**
 * Returns neighbouring loopback addresses for devices on UDP. They are random, because a second build on this machine
 * shares the network, and only one socket can have port 4791 of an address.
 *
 * @param count at most 4
 */
internal fun loopbackAddresses(count: Int): List<String> {
    val network = "127.${Random.nextInt(128, 255)}.${Random.nextInt(256)}"
    val first = 4 * Random.nextInt(1, 63)
    return List(count) { "$network.${first + it}" }
}

/** Returns such addresses as words of a configuration. */
internal fun udpWords(count: Int): String = loopbackAddresses(count).joinToString(",") { "udp:$it" }
