package org.kverbs.testkit.junit

import org.junit.jupiter.api.Test
import org.kverbs.dsl.RC
import org.kverbs.testkit.connectedChannels
import org.kverbs.testkit.connectedCoroutines
import org.kverbs.testkit.connectedHosts
import org.kverbs.testkit.connectedPair
import org.kverbs.testkit.leakCheck

/** Tests whose body is a fixture, each with a block that ends with a value. JUnit runs no test that returns a value. */
internal class Bodies {
    private fun value() = 1

    @Test
    fun pair() = connectedPair { _, _ -> value() }

    @Test
    fun pairOfAType() = connectedPair(RC) { _, _ -> value() }

    @Test
    fun coroutines() = connectedCoroutines { _, _ -> value() }

    @Test
    fun coroutinesOfAType() = connectedCoroutines(RC) { _, _ -> value() }

    @Test
    fun channels() = connectedChannels { _, _ -> value() }

    @Test
    fun hosts() = connectedHosts { _, _ -> value() }

    @Test
    fun leaks() = leakCheck { connectedPair { _, _ -> value() } }
}
