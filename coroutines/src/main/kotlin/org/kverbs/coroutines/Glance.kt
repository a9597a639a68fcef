package org.kverbs.coroutines

/**
 * Stands in the slot of a request for a coroutine on the polling thread that looks for the completion before it
 * suspends. A dispatcher has one, as one coroutine at a time looks. Only the polling thread uses it: a thread that ends
 * the wait takes it out of the slot and leaves it as it is.
 */
internal class Glance {
    private var slots: SendSlots? = null
    private var request = 0

    /** True if the request has completed, with [failure] if it failed. */
    var isDone: Boolean = false
        private set
    var failure: Throwable? = null
        private set

    /** Begins to stand for a request of a queue. */
    fun begin(
        slots: SendSlots,
        request: Int,
    ) {
        this.slots = slots
        this.request = request
        isDone = false
        failure = null
    }

    /**
     * Notes the end of a request. An error such as a stack overflow can have left this object in a slot: that request
     * is not the one that is looked for.
     */
    fun end(
        slots: SendSlots,
        request: Int,
        failure: Throwable?,
    ) {
        if (slots !== this.slots || request != this.request) return
        isDone = true
        this.failure = failure
    }
}
