package org.kverbs.management.simulation

/**
 * What all nodes answer of one management class, beside subnet management and performance.
 *
 * Threads: [Exchange] holds its lock around each call.
 */
internal interface NodeAgent {
    /** The version of the class. */
    val classVersion: Int

    /** Whether the request is one of the class: those of vendors name the vendor. */
    fun isOwn(mad: ByteArray): Boolean = true

    /**
     * Writes the answer's attribute over that of a Get or Set.
     *
     * @return the status of the answer, or null if the request gets no answer
     */
    fun serve(
        port: Int,
        mad: ByteArray,
        isSet: Boolean,
    ): Int?
}
