package org.kverbs.samples

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.BufferPool
import org.kverbs.coroutines.bufferPool
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.coroutines.srq
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.openDevice
import java.lang.foreign.ValueLayout.JAVA_LONG

/**
 * Serves many clients with a few workers and one shared receive queue, on the device that the argument names or on the
 * first one. A question goes to a free worker, so that the server needs a buffer for each worker instead of one for
 * each client.
 */
fun main(args: Array<String>): Unit =
    (if (args.isEmpty()) openDevice() else openDevice(args[0])).use { device ->
        val pd = device.protectionDomain()
        val pool = pd.bufferPool()
        val dispatcher = device.completionDispatcher()
        val questions = dispatcher.srq(pd) { maxWr(WORKERS) }
        val servers = List(CLIENTS) { dispatcher.qp(pd, RC, questions) }
        val clients = servers.map { server -> dispatcher.qp(pd, RC).also { it.connect(server.endpoint()) } }
        servers.zip(clients) { server, client -> server.connect(client.endpoint()) }
        val senders = servers.associateBy { it.queuePair.number() }
        runBlocking {
            val working =
                List(WORKERS) {
                    launch {
                        pool.take(NUMBER).use { buffer ->
                            while (true) {
                                val question = questions.receive(into = buffer)
                                val number = buffer.memory.get(JAVA_LONG, 0)
                                buffer.memory.set(JAVA_LONG, 0, number * number)
                                senders.getValue(question.queuePairNumber).send(buffer)
                            }
                        }
                    }
                }
            val squares = clients.mapIndexed { n, client -> async { ask(client, n.toLong(), pool) } }.awaitAll()
            working.forEach { it.cancel() }
            val told = "$WORKERS workers told $CLIENTS clients the squares ${squares.joinToString(" ")}"
            println("${device.device().name()}: $told")
        }
    }

/** Posts the receive for the answer before it sends the question. */
private suspend fun ask(
    server: AsyncQueuePair<RcVerbs>,
    number: Long,
    pool: BufferPool,
): Long =
    pool.take(NUMBER).use { question ->
        pool.take(NUMBER).use { answer ->
            val answered = server.postReceive(into = answer)
            question.memory.set(JAVA_LONG, 0, number)
            server.send(question)
            answered.await()
            answer.memory.get(JAVA_LONG, 0)
        }
    }

private const val WORKERS = 3
private const val CLIENTS = 8
private const val NUMBER = 8L
