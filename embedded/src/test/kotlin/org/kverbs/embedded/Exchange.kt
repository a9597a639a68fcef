package org.kverbs.embedded

import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.ConnectOptions
import java.lang.foreign.ValueLayout
import kotlin.random.Random

private const val BYTES = 1L shl 16

/** Enough retries for the worst line of these specs. */
internal val patient =
    ConnectOptions
        .builder()
        .timeout(10)
        .retryCount(7)
        .rnrRetry(7)
        .minRnrTimer(5)
        .build()

/** Runs writes, sends, reads and atomics between both ends, many at once, and checks all bytes. */
internal fun exchange(
    pair: Pair,
    random: Random,
) {
    val (a, b) = pair
    a.fill(random.nextInt())
    val half = BYTES / 2
    repeat(4) {
        repeat(8) { b.qp.postReceive(it.toLong(), b.mr.slice(half + it * 4096, 4096)) }
        val sizes = List(8) { random.nextLong(0, 4097) }
        a.post { sizes.forEachIndexed { i, size -> send(i.toLong()).from(a.mr.slice(i * 4096L, size)).signaled() } }
        a.take(8).forEachIndexed { i, done -> done.isSuccess to done.workRequestId() shouldBe (true to i.toLong()) }
        b.take(8).forEachIndexed { i, done -> done.byteLength() shouldBe sizes[i] }
        sizes.forEachIndexed { i, size -> b.bytes(half + i * 4096, size) shouldBe a.bytes(i * 4096L, size) }

        a.post {
            write(1, b.mr.remote()).from(a.mr.slice(0, half)).signaled()
            read(2, b.mr.remote()).into(a.mr.slice(half, half)).signaled()
        }
        a.take(2).forEach { it.status() shouldBe WorkCompletionStatus.SUCCESS }
        b.bytes(0, half) shouldBe a.bytes(0, half)
        a.bytes(half, half) shouldBe a.bytes(0, half)

        val counter = b.mr.remote().at(BYTES - 8)
        b.mr.memory().set(ValueLayout.JAVA_LONG, BYTES - 8, 100)
        a.post { repeat(10) { fetchAndAdd(it.toLong(), counter, 1).into(a.mr.slice(8L * it, 8)).signaled() } }
        a.take(10).forEach { it.isSuccess shouldBe true }
        List(10) { a.mr.memory().get(ValueLayout.JAVA_LONG, 8L * it) } shouldBe List(10) { 100L + it }
        b.mr.memory().get(ValueLayout.JAVA_LONG, BYTES - 8) shouldBe 110
    }
}
