package org.kverbs.embedded

import io.kotest.matchers.shouldBe
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletions
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.util.concurrent.TimeUnit
import kotlin.random.Random

private const val SLOTS = 8L
private const val LONGEST = 40_000L
private const val SLOT = 40_960L
private const val FLAGS = SLOTS * SLOT
private const val NUMBERS = FLAGS + 64
internal const val CROWD_BYTES = NUMBERS + SLOTS * 8
private const val RECEIVES = 32

/** Every so many messages one is announced by a send, and not by a flag in memory. */
private const val SENDS = 5L
private const val MOST_POSTED = 100
private val WORD = JAVA_LONG.varHandle()

private fun word(
    number: Long,
    at: Long,
) = number * 1_000_003 + at

/**
 * Numbered messages from one end to another, each with a payload that is written, then announced by a flag that is
 * written or by a send. The receiver looks at each payload as soon as it sees the announcement, and writes back how far
 * it has come.
 */
internal class CrowdLink(
    private val from: End,
    private val to: End,
    private val seed: Int,
    private val messages: Long,
    private val pause: () -> Unit = Thread::onSpinWait,
) {
    private val end = System.nanoTime() + TimeUnit.MINUTES.toNanos(4)
    private var posted = 0
    private var acknowledgements = 0
    private val sent = WorkCompletions(32)
    private val came = WorkCompletions(32)
    private val announced = ArrayDeque<Long>()

    /** The bytes of all messages, in both directions. */
    var bytes = 0L
        private set
    private var backBytes = 0L

    private fun flag(of: End): Long = WORD.getAcquire(of.mr.memory(), FLAGS) as Long

    private inline fun until(
        what: String,
        isThere: () -> Boolean,
    ) {
        while (!isThere()) {
            check(System.nanoTime() < end) { "connection $seed still waits for $what" }
            pause()
        }
    }

    private fun length(random: Random): Long =
        when (random.nextInt(20)) {
            0 -> random.nextLong(32_768, LONGEST)
            in 1..9 -> 8 * random.nextLong(1, 9)
            else -> 8 * random.nextLong(1, 500)
        } and 7L.inv()

    private fun reclaim() {
        repeat(from.cq.poll(sent)) {
            sent.get(it).orThrow()
            posted--
        }
    }

    /** Sends all; the first thread. */
    fun send() {
        val random = Random(seed)
        val pace = Random(-seed)
        for (number in 1..messages) {
            until("room for message $number") { flag(from) >= number - SLOTS }
            until("slots for message $number") {
                reclaim()
                posted < MOST_POSTED
            }
            val slot = number % SLOTS * SLOT
            val size = length(random)
            for (at in 0 until size step 8) WORD.set(from.mr.memory(), slot + at, word(number, at))
            WORD.set(from.mr.memory(), NUMBERS + number % SLOTS * 8, number)
            val payload = from.mr.slice(slot, size)
            val name = from.mr.slice(NUMBERS + number % SLOTS * 8, 8)
            val target = to.mr.remote().slice(slot, size)
            bytes += size + 8
            posted += 2

            fun SendRequests.addPayload() {
                val isInline = size <= 64 && pace.nextBoolean()
                write(number, target).run { if (isInline) inline(payload) else from(payload) }.signaled()
            }

            fun SendRequests.addAnnouncement() {
                if (number % SENDS == 0L) {
                    sendWithImmediate(number, number.toInt()).from(name).signaled()
                } else {
                    write(number, to.mr.remote().slice(FLAGS, 8)).from(name).signaled()
                }
            }
            if (pace.nextInt(6) == 0) {
                from.post {
                    addPayload()
                    addAnnouncement()
                }
            } else {
                from.post { addPayload() }
                from.post { addAnnouncement() }
            }
        }
        until("the end") {
            reclaim()
            posted == 0 && flag(from) >= messages
        }
    }

    private fun take(done: WorkCompletion) {
        done.orThrow()
        if (done.opcode() == WorkCompletionOpcode.RECV) {
            announced += done.immediate().toLong()
            receive(done.workRequestId())
        } else {
            acknowledgements--
        }
    }

    private fun poll() = repeat(to.cq.poll(came)) { take(came.get(it)) }

    private fun receive(id: Long) = to.qp.postReceive(id, to.mr.slice(FLAGS + 16, 8))

    /** Posts the receives; before the first message is sent. */
    fun prepare() = repeat(RECEIVES) { receive(it.toLong()) }

    /** Takes all; the second thread. */
    fun receive() {
        val random = Random(seed)
        val memory = to.mr.memory()
        for (number in 1..messages) {
            val size = length(random)
            if (number % SENDS == 0L) {
                until("send $number") {
                    poll()
                    announced.isNotEmpty()
                }
                announced.removeFirst() shouldBe number
            } else {
                until("flag $number") { flag(to) >= number }
            }
            val slot = number % SLOTS * SLOT
            for (at in 0 until size step 8) {
                val found = WORD.get(memory, slot + at) as Long
                if (found != word(number, at)) error("connection $seed, message $number, byte $at: $found")
            }
            WORD.set(memory, NUMBERS + number % SLOTS * 8, number)
            until("slots for an acknowledgement") {
                poll()
                acknowledgements < MOST_POSTED
            }
            acknowledgements++
            backBytes += 8
            val name = to.mr.slice(NUMBERS + number % SLOTS * 8, 8)
            to.post { write(number, from.mr.remote().slice(FLAGS, 8)).from(name).signaled() }
        }
        until("the last acknowledgement") {
            poll()
            acknowledgements == 0
        }
    }

    /** The bytes that both ends have sent. */
    fun allBytes(): Long = bytes + backBytes
}
