package org.kverbs;

import org.kverbs.internal.WorkRequestArena;
import org.kverbs.internal.abi.IbvRecvWr;

/**
 * A reusable list of receive work requests ({@code struct ibv_recv_wr}) in native memory, posted in one call.
 *
 * <pre>{@code
 * requests.clear();
 * requests.receive(1).into(header).into(body);
 * requests.receive(2).into(other);
 * qp.postReceive(requests);
 * }</pre>
 *
 * <p>For one thread at a time. The list can be cleared and used again as soon as the post has returned; the buffers
 * belong to the device until the completion. The list allocates memory only when it grows. Source: {@code man 3
 * ibv_post_recv}.
 */
public final class ReceiveRequests {

    final WorkRequestArena requests = new WorkRequestArena(IbvRecvWr.SIZE, SendRequests.CAPACITY);

    /** Makes an empty list. */
    public ReceiveRequests() {}

    /** Removes all requests. */
    public void clear() {
        requests.clear();
    }

    /** Returns the number of requests. */
    public int size() {
        return requests.count();
    }

    /** Adds a request. Without a buffer added by {@link #into} it takes only messages of no bytes. */
    public ReceiveRequests receive(long workRequestId) {
        requests.addReceive(workRequestId);
        return this;
    }

    /**
     * Adds a buffer to the last request. A message fills the buffers in order. On a UD queue pair the first 40 bytes
     * are for the GRH.
     *
     * @throws IllegalStateException if the list has no request
     */
    public ReceiveRequests into(MemorySlice buffer) {
        return into(buffer.address(), (int) buffer.length(), buffer.lkey());
    }

    /** Adds a buffer by its address, length and key. Only the device checks them, when a message arrives. */
    public ReceiveRequests into(long address, int length, int lkey) {
        if (requests.isEmpty()) {
            throw new IllegalStateException("no request was begun: call receive first");
        }
        requests.addEntry(address, length, lkey);
        return this;
    }
}
