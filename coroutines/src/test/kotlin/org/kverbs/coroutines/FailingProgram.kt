package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.selects.select
import org.kverbs.dsl.get

/**
 * Fails in several calls and prints the stack trace of each failure, for [FailedCallsSpec]: a JVM of its own has
 * assertions on or off.
 */
object FailingProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        print("write", runBlocking { failure { writeIntoNothing(it) } })
        print("awaited", runBlocking { failure { awaitTheWrite(it) } })
        print("receive", runBlocking { failure { receiveAndClose(it) } })
        print("connect", runBlocking { failureOfConnecting() })
        print("select", runBlocking { failureOfSelect() })
        runBlocking { failuresOfWaits() }.forEach { (name, failure) -> print(name, failure) }
        runBlocking { failuresOfLaterCalls() }.forEach { (name, failure) -> print(name, failure) }
    }

    /**
     * Returns the exceptions of calls that wait on a message channel when the peer closes it, by the name of the
     * calling function.
     */
    private suspend fun failuresOfWaits(): Map<String, Throwable?> =
        coroutineScope {
            TwoChannels({ receiveSlots(1) }).use { ends ->
                val waits =
                    calls.mapValues { (_, call) ->
                        async(
                            start = CoroutineStart.UNDISPATCHED,
                        ) { runCatching { call(ends.client) }.exceptionOrNull() }
                    }
                ends.server.close()
                waits.mapValues { (_, wait) -> wait.await() }
            }
        }

    /** Returns the exception of a call that connects while its host is closed. */
    private suspend fun failureOfConnecting(): Throwable? =
        coroutineScope {
            rdmaHost { provider("embedded") }.use { server ->
                val listener = server.listen(0)
                val host = rdmaHost { provider("embedded") }
                val connecting =
                    async(start = CoroutineStart.UNDISPATCHED) {
                        runCatching { connectForEver(host, listener.address.port) }.exceptionOrNull()
                    }
                listener.awaitRequest()
                host.close()
                connecting.await()
            }
        }

    private suspend fun connectForEver(
        host: RdmaHost,
        port: Int,
    ) {
        host.connect("127.0.0.1", port)
        delay(1)
    }

    private suspend fun failureOfSelect(): Throwable? =
        coroutineScope {
            TwoChannels().use { ends ->
                val selecting =
                    async(start = CoroutineStart.UNDISPATCHED) {
                        runCatching { selectForEver(ends.client) }.exceptionOrNull()
                    }
                ends.server.close()
                selecting.await()
            }
        }

    private suspend fun selectForEver(channel: MessageChannel) {
        select { channel.incoming.onReceive { } }
        delay(1)
    }

    private suspend fun failuresOfLaterCalls(): Map<String, Throwable?> =
        TwoChannels().use { ends ->
            ends.client.close()
            calls.entries.associate { (name, call) ->
                "$name after the close" to
                    runCatching { call(ends.client) }.exceptionOrNull()
            }
        }

    /** The functions that use a message channel, by name. */
    val calls: Map<String, suspend (MessageChannel) -> Unit> =
        mapOf(
            "receiveOne" to ::receiveOne,
            "receiveAnother" to ::receiveAnother,
            "receiveFromIncoming" to ::receiveFromIncoming,
            "iterate" to ::iterate,
            "sendForEver" to ::sendForEver,
            "sendLargeForEver" to ::sendLargeForEver,
            "awaitMemory" to ::awaitMemory,
        )

    private suspend fun receiveOne(channel: MessageChannel) {
        channel.receive()
        delay(1) // so that the call above is not a tail call
    }

    private suspend fun receiveAnother(channel: MessageChannel) {
        channel.receiveOrNull()
        delay(1)
    }

    private suspend fun receiveFromIncoming(channel: MessageChannel) {
        channel.incoming.receive()
        delay(1)
    }

    private suspend fun iterate(channel: MessageChannel) {
        for (message in channel.incoming) delay(1)
    }

    private suspend fun sendForEver(channel: MessageChannel) {
        while (true) channel.send(ByteArray(1))
    }

    private suspend fun sendLargeForEver(channel: MessageChannel) {
        while (true) channel.send(ByteArray(100_000))
    }

    private suspend fun awaitMemory(channel: MessageChannel) {
        channel.awaitRemote("nothing")
        delay(1)
    }

    private suspend fun failure(call: suspend (TwoEnds) -> Unit): Throwable? =
        TwoEnds().use {
            runCatching { call(it) }.exceptionOrNull()
        }

    private fun print(
        name: String,
        failure: Throwable?,
    ) {
        println("== $name")
        generateSequence(failure) { it.cause }.forEachIndexed { i, e ->
            println("$i ${e.message}")
            e.stackTrace.forEach { println("$i at ${it.className}.${it.methodName}:${it.lineNumber}") }
        }
    }

    private suspend fun writeIntoNothing(ends: TwoEnds) {
        val gone = ends.server.region.remote()
        ends.server.region.close()
        ends.client.qp.write(ends.client.region[0, 8], to = gone)
        delay(1)
    }

    private suspend fun awaitTheWrite(ends: TwoEnds) =
        coroutineScope {
            val writing = CoroutineScope(SupervisorJob()).async { writeIntoNothing(ends) }
            writing.await()
            delay(1)
        }

    private suspend fun receiveAndClose(ends: TwoEnds) =
        coroutineScope {
            val waits = CompletableDeferred<Unit>()
            async {
                waits.await()
                ends.client.qp.close()
            }
            waits.complete(Unit)
            receiveForEver(ends)
        }

    private suspend fun receiveForEver(ends: TwoEnds) {
        ends.client.qp.receive(ends.client.region[0, 8])
        delay(1)
    }
}
