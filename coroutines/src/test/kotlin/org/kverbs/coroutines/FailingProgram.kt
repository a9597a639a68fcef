package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.kverbs.dsl.get

/** Fails in several calls and prints the stack trace of each failure, for [FailedCallsSpec]: a JVM of its own has assertions on or off. */
object FailingProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        print("write", runBlocking { failure { writeIntoNothing(it) } })
        print("awaited", runBlocking { failure { awaitTheWrite(it) } })
        print("receive", runBlocking { failure { receiveAndClose(it) } })
    }

    private suspend fun failure(call: suspend (TwoEnds) -> Unit): Throwable? = TwoEnds().use { runCatching { call(it) }.exceptionOrNull() }

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
        delay(1) // so that the call above isn't the last
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
