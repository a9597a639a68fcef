package org.kverbs.coroutines

import java.net.InetAddress
import java.net.UnknownHostException
import java.net.spi.InetAddressResolver
import java.net.spi.InetAddressResolver.LookupPolicy
import java.net.spi.InetAddressResolverProvider
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import java.util.stream.Stream

/** A name service of this JVM that knows one host more, [HOST]: who asks for it waits until it is let go, and hears that there is none. */
class SlowNames : InetAddressResolverProvider() {
    override fun get(configuration: Configuration): InetAddressResolver {
        val usual = configuration.builtinResolver()
        return object : InetAddressResolver by usual {
            override fun lookupByName(
                host: String,
                policy: LookupPolicy,
            ): Stream<InetAddress> {
                if (host != HOST) return usual.lookupByName(host, policy)
                asked.countDown()
                letGo.await(20, SECONDS) // a test that waits for it has failed by then
                answered.countDown()
                throw UnknownHostException(host)
            }
        }
    }

    override fun name() = "a slow one"

    companion object {
        const val HOST = "slow.test"
        val asked = CountDownLatch(1)
        val letGo = CountDownLatch(1)
        val answered = CountDownLatch(1)
    }
}
