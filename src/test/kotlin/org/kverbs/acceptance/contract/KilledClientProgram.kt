package org.kverbs.acceptance.contract

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaHost
import java.net.InetSocketAddress
import kotlin.random.Random

/**
 * Makes several connections at a time to a server, exchanges messages, and makes new ones until it is killed, for
 * [KilledClientsSpec]. Prints its progress.
 */
object KilledClientProgram {
    const val CONNECTIONS = 5
    const val CONNECTING = "connecting"
    const val ANSWERED = "answered"

    @JvmStatic
    fun main(arguments: Array<String>): Unit =
        runBlocking(Dispatchers.Default) {
            val (provider, address, port, seed) = arguments
            val host = rdmaHost { provider(provider) }
            val server = InetSocketAddress(address, port.toInt())
            println(CONNECTING)
            repeat(CONNECTIONS) { launch { talk(host, server, Random(seed.toInt() * CONNECTIONS + it)) } }
        }

    private suspend fun talk(
        host: RdmaHost,
        server: InetSocketAddress,
        random: Random,
    ) {
        while (true) {
            val connection = host.connectMessages(server)
            repeat(random.nextInt(1, 20)) { connection.doOneThing(random) }
            if (random.nextBoolean()) connection.disconnect() else connection.close()
        }
    }

    private suspend fun MessageConnection.doOneThing(random: Random) {
        when (random.nextInt(4)) {
            0 -> {
                check(awaitRemote(VAULT).read(0, 8).size == 8)
            }

            1 -> {
                awaitRemote(VAULT).write(ByteArray(100_000))
            }

            else -> {
                val count = random.nextInt(1, 5)
                val lengths = List(count) { if (random.nextInt(4) == 0) 100_000 else random.nextInt(4000) }
                lengths.forEach { send(ByteArray(it)) }
                lengths.forEach { check(receive().size == it) }
                println(ANSWERED)
            }
        }
    }
}

/** The name of the memory that a client may read and write. */
internal const val VAULT = "vault"
