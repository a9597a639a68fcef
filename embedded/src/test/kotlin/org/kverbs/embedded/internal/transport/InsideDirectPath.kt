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
        cq.reserve(1)
    }
}
