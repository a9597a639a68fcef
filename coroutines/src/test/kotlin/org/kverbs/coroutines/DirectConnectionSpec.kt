package org.kverbs.coroutines

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.random.Random
import kotlin.time.Duration.Companion.microseconds

private const val MESSAGES = 1500
private const val LONGEST = 40_000

/** Sends numbered messages of every kind of length from arrays and buffers, and finishes. */
private suspend fun MessageConnection.sendAll(
    pool: BufferPool,
    random: Random,
    slot: Int,
) {
    val lengths = listOf(8, slot - 9, slot - 8, slot - 7, slot, 20_000, LONGEST)
    for (number in 0 until MESSAGES) {
        val bytes = numbered(number, lengths.random(random))
        if (random.nextBoolean()) {
            send(bytes)
        } else {
            pool.take(LONGEST.toLong()).use {
                it.write(bytes)
                if (random.nextInt(4) == 0) {
                    coroutineScope { launch { send(it, bytes.size) } }
                } else {
                    send(it, bytes.size)
                }
            }
        }
    }
    finish()
}

/** Receives all in each way, gives up early at random, and returns the numbers in their order. */
private suspend fun MessageConnection.receiveAll(
    pool: BufferPool,
    random: Random,
): List<Int> {
    val numbers = ArrayList<Int>()
    var isOver = false
    while (!isOver) {
        val patience = if (random.nextInt(3) == 0) random.nextLong(1, 300).microseconds else null
        val way = random.nextInt(5)

        suspend fun once() {
            try {
                when (way) {
                    0 -> {
                        receiveOrNull()?.let { numbers.add(numberOf(it)) } ?: run { isOver = true }
                    }

                    1 -> {
                        incoming.tryReceive().getOrNull()?.let { numbers.add(numberOf(it)) } ?: yield()
                    }

                    2 -> {
                        select {
                            incoming.onReceiveCatching { got -> got.getOrNull()?.let { numbers.add(numberOf(it)) } }
                        } ?: run { isOver = true }
                    }

                    else -> {
                        pool.take(LONGEST.toLong()).use { into ->
                            val length = receive(into)
                            numbers.add(numberOf(into.memory.asSlice(0, length).toArray(JAVA_BYTE)))
                        }
                    }
                }
            } catch (e: ChannelClosedException) {
                if (e.message?.contains("last message") != true) throw e
                isOver = true
            }
        }
        if (patience == null) once() else withTimeoutOrNull(patience) { once() }
    }
    return numbers
}

/** Tests large messages that stay at their sender on connections, with shared and with own receive slots. */
class DirectConnectionSpec :
    FunSpec({
        timeout = 240_000

        for (slot in listOf(512, 4096, 8192)) {
            for (large in listOf(1, 4)) {
                test("should deliver all once and in order in both directions, slots of $slot, $large large at once") {
                    val seed = slot + large
                    withClue("seed $seed") {
                        withContext(Dispatchers.Default) {
                            exchangeBothWays(slot, large, seed)
                        }
                    }
                }
            }
        }
    })

private suspend fun exchangeBothWays(
    slot: Int,
    large: Int,
    seed: Int,
) {
    val settings: MessageChannelBuilder.() -> Unit = {
        fetchAhead(0)
        slotSize(slot.toLong())
        largeMessages(large)
        receiveSlots(if (large == 1) 1 else 8)
    }
    val failures = ConcurrentLinkedQueue<Throwable>()
    bound({
        channel(settings)
        onFailure { failures.add(it) }
    }) { server, host, address ->
        suspend fun CoroutineScope.both(
            it: MessageConnection,
            random: Random,
        ) {
            val lent = it.pd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
            val own = it.pd.bufferPool()
            val sending = launch { it.sendAll(lent, Random(random.nextLong()), slot) }
            it.receiveAll(own, random) shouldBe List(MESSAGES) { it }
            sending.join()
        }
        server.serve(this) { both(it, Random(seed)) }
        val client = host.connectMessages(address) { channel(settings) }
        coroutineScope { both(client, Random(-seed)) }
        client.disconnect()
        server.stop()
        failures.firstOrNull()?.let { throw it }
    }
}
