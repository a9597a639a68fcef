package org.kverbs.umad;

/**
 * A management datagram, or a long message that the kernel has joined, as a {@link UmadPort} receives it.
 *
 * @param agent the number of the agent that it is for
 * @param status 0 for a message that arrived; otherwise this is the program's own request, which came to nothing, and
 *     the status is an errno: ETIMEDOUT if no answer came
 * @param from the sender; of a request that came back, where it went
 * @param data the message's bytes, which the receiver owns: the header of the first datagram, and all data; of a
 *     request that came back, the 24 bytes of its header
 */
public record UmadMessage(int agent, int status, UmadAddress from, byte[] data) {}
