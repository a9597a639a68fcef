package org.kverbs.coroutines

import io.kotest.matchers.shouldBe
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import java.nio.ByteBuffer
import kotlin.random.Random

/** A message that tells its number, and whose other bytes follow from that. */
fun numbered(
    number: Int,
    length: Int,
): ByteArray =
    ByteArray(length) { (number * 31 + it).toByte() }.also {
        if (length >= 4) ByteBuffer.wrap(it).putInt(number)
    }

/** The number of a message, whose bytes are checked. */
fun numberOf(message: ByteArray): Int {
    val number = ByteBuffer.wrap(message).getInt()
    message.contentEquals(numbered(number, message.size)) shouldBe true
    return number
}

/**
 * Sends so many messages of random length, most short, from one channel to another, and checks order and contents
 * there.
 */
suspend fun exchange(
    from: MessageChannel,
    to: MessageChannel,
    count: Int,
    random: Random,
    slow: Int = 0,
    longest: Int = 1000,
): Unit =
    coroutineScope {
        val lengths =
            IntArray(count) {
                if (random.nextInt(10) == 0) {
                    random.nextInt(4, longest)
                } else {
                    random.nextInt(4, 200)
                }
            }
        launch { for (i in 0 until count) from.send(numbered(i, lengths[i])) }
        for (i in 0 until count) {
            if (slow > 0 && i % slow == 0) delay(1)
            val message = to.receive()
            message.size shouldBe lengths[i]
            numberOf(message) shouldBe i
        }
    }
