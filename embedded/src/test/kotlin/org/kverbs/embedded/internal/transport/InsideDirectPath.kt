package org.kverbs.embedded.internal.transport

import org.kverbs.embedded.internal.objects.Cq

/** Changes the state of a queue pair's direct path as an exception in its middle does. */
internal class InsideDirectPath(
    hca: Hca,
    number: Int,
) {
    private val qp = checkNotNull(hca.queuePairs.peek(number)) { "no queue pair $number" }

    val cq: Cq = checkNotNull(qp.sendCq)

    private fun set(
        owner: Any,
        field: String,
        value: Any,
    ) = owner.javaClass
        .getDeclaredField(field)
        .apply { isAccessible = true }
        .set(owner, value)

    /** Leaves the queue pair locked, with a note of an exception. */
    fun leaveBroken(halfDone: Boolean) {
        val path = qp.direct
        set(path, "busy", 1)
        set(path, "broke", true)
        val message = path.javaClass.getDeclaredField("message").apply { isAccessible = true }.get(path)
        set(message, "halfDone", halfDone)
    }

    /** Leaves its completion queue reserved. */
    fun reserve() {
        cq.reserve()
    }

    /** Posts an empty list of receives, as a thread does that takes the direct path. */
    fun receiveNothing(): Int = qp.direct.receive(0, 0)

    /** Runs [block] while another thread uses the queue pair. */
    fun <T> whileUsed(block: () -> T): T {
        set(qp.direct, "busy", 1)
        try {
            return block()
        } finally {
            set(qp.direct, "busy", 0)
        }
    }
}
