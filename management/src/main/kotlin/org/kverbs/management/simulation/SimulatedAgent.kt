package org.kverbs.management.simulation

/**
 * Answers requests of a management class at the nodes of a simulated fabric, such as a vendor's.
 *
 * The thread that sent the request calls it, several at once. An exception from it is handed to that thread's handler
 * of uncaught exceptions, and the request gets no answer.
 */
public fun interface SimulatedAgent {
    /**
     * Answers a request.
     *
     * @param request the datagram; the agent can change it
     * @param port the port at which it arrived, such as `S-1[3]`
     * @return the answer, which can be the request itself, or null for none. Method and status are the agent's.
     */
    public fun answer(
        request: ByteArray,
        port: String,
    ): ByteArray?
}
