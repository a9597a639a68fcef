package org.kverbs.coroutines

import java.net.InetAddress
import java.net.UnknownHostException
import java.net.spi.InetAddressResolver
import java.net.spi.InetAddressResolver.LookupPolicy
import java.net.spi.InetAddressResolverProvider
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import java.util.stream.Stream

/**
 * A name service of this JVM that knows [MANY]. A lookup of [HOST] blocks until the test lets it go, and then finds no
 * host.
 */
class SlowNames : InetAddressResolverProvider() {
    override fun get(configuration: Configuration): InetAddressResolver {
        val usual = configuration.builtinResolver()
        return object : InetAddressResolver by usual {
            override fun lookupByName(
                host: String,
                policy: LookupPolicy,
            ): Stream<InetAddress> {
                if (host == MANY) return Stream.of("192.0.2.1", "198.18.0.2", "198.18.0.1").map(InetAddress::ofLiteral)
                if (host != HOST) return usual.lookupByName(host, policy)
                asked.countDown()
                letGo.await(20, SECONDS) // a test that waits this long has failed
                answered.countDown()
                throw UnknownHostException(host)
            }
        }
    }

    override fun name() = "a slow one"

    companion object {
        const val HOST = "slow.test"

        /** A host with three addresses: one of no device, that of embedded1 and that of embedded0. */
        const val MANY = "many.test"
        val asked = CountDownLatch(1)
        val letGo = CountDownLatch(1)
        val answered = CountDownLatch(1)
    }
}
