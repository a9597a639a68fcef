package org.kverbs.coroutines

import io.kotest.matchers.shouldBe
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import java.nio.ByteBuffer
import kotlin.random.Random

/** Creates a message that contains its number; its other bytes follow from the number. */
fun numbered(
    number: Int,
    length: Int,
): ByteArray =
    ByteArray(length) { (number * 31 + it).toByte() }.also {
        if (length >= 4) ByteBuffer.wrap(it).putInt(number)
    }

/** Checks the bytes of a message and returns its number. */
fun numberOf(message: ByteArray): Int {
    val number = ByteBuffer.wrap(message).getInt()
    message.contentEquals(numbered(number, message.size)) shouldBe true
    return number
}

/**
 * Sends [count] messages of random length, most of them short, from one channel to another, and checks their order and
 * contents there.
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
