package org.kverbs.benchmarks.bench

import org.kverbs.benchmarks.OnNullDevice
import org.kverbs.benchmarks.Polling
import org.kverbs.benchmarks.Posting

/**
 * A call of kverbs that a loop of `loops.c` makes in C, on the device whose queues move nothing.
 *
 * @property title the words of a table
 * @property c the name of the loop in C
 * @property opening opens the device
 */
internal enum class Call(
    val title: String,
    val c: String,
    private val opening: () -> Loop,
) {
    EMPTY_POLL("empty poll(batch)", "emptyPoll", { polling(false) { rounds -> repeat(rounds) { batch() } } }),
    EMPTY_POLL_HANDLER(
        "empty poll(handler)",
        "emptyPoll",
        { polling(false) { rounds -> repeat(rounds) { handler() } } },
    ),
    POLL_BATCH(
        "poll(batch) of 16, 5 fields of each read",
        "pollAndDecode",
        { polling(true) { rounds -> repeat(rounds) { batch() } } },
    ),
    POLL_HANDLER(
        "poll(handler) of 16, 5 fields of each read",
        "pollAndDecode",
        { polling(true) { rounds -> repeat(rounds) { handler() } } },
    ),
    PREBUILT_WRITE(
        "post of a write, built before",
        "prebuiltWrite",
        { posting { rounds -> repeat(rounds) { prebuiltWrite() } } },
    ),
    POST_WRITE("post of a write, without a list", "write", { posting { rounds -> repeat(rounds) { postWrite() } } }),
    WRITE("post of a write, built anew in a list", "write", { posting { rounds -> repeat(rounds) { write() } } }),
    WRITE_LIST("post of 16 writes", "writeList", { posting { rounds -> repeat(rounds) { writeList() } } }),
    OWN_LIST(
        "post of 16 writes in the program's own list",
        "writeList",
        { posting { rounds -> repeat(rounds) { ownList() } } },
    ),
    POST_RECEIVE("post of a receive", "postReceive", { posting { rounds -> repeat(rounds) { postReceive() } } }),
    ;

    /** The name in the baseline: `empty-poll`. */
    override fun toString() = name.lowercase().replace('_', '-')

    /** Opens the device for this call. */
    fun open(): Loop = opening()

    /** A loop of one call. Each enum entry has its own code, which the JVM compiles with the call inside. */
    internal class Loop(
        private val device: OnNullDevice,
        private val loop: (Int) -> Unit,
    ) : AutoCloseable {
        /** Makes so many calls. */
        fun run(rounds: Int) = loop(rounds)

        override fun close() = device.close()
    }

    private companion object {
        fun polling(
            hasCompletions: Boolean,
            loop: Polling.(Int) -> Unit,
        ): Loop {
            val polling = Polling().apply { completions = hasCompletions }
            polling.open()
            return Loop(polling) { polling.loop(it) }
        }

        fun posting(loop: Posting.(Int) -> Unit): Loop {
            val posting = Posting().apply { shortPost = true }
            posting.open()
            return Loop(posting) { posting.loop(it) }
        }
    }
}
