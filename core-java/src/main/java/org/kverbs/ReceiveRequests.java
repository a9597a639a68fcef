package org.kverbs;

import org.kverbs.internal.WorkRequestArena;
import org.kverbs.internal.abi.IbvRecvWr;
import org.kverbs.internal.memory.Memory;

/**
 * A reusable list of receive work requests ({@code struct ibv_recv_wr}), written straight into native memory, to post
 * in one call.
 *
 * <pre>{@code
 * requests.clear();
 * requests.receive(1).into(header).into(body);
 * requests.receive(2).into(other);
 * qp.postReceive(requests);
 * }</pre>
 *
 * <p>For one thread at a time. It may be cleared as soon as the post has returned: the device keeps nothing of it but
 * the buffers. It allocates only when it must grow. Source: {@code man 3 ibv_post_recv}.
 */
public final class ReceiveRequests {

    final WorkRequestArena requests = new WorkRequestArena(
            IbvRecvWr.SIZE, IbvRecvWr.NEXT, IbvRecvWr.SG_LIST, IbvRecvWr.NUM_SGE, 2);

    /** Makes an empty list. */
    public ReceiveRequests() {}

    /** Forgets all requests. */
    public void clear() {
        requests.clear();
    }

    /** How many requests there are. */
    public int size() {
        return requests.count();
    }

    /** Adds a request; without {@link #into} it takes messages of no bytes. */
    public ReceiveRequests receive(long workRequestId) {
        Memory.putLong(requests.add() + IbvRecvWr.WR_ID, workRequestId);
        return this;
    }

    /**
     * Adds a buffer to the last request; the message fills them in order. A UD message begins with the 40 bytes of the
     * GRH.
     */
    public ReceiveRequests into(MemorySlice buffer) {
        return into(buffer.address(), (int) buffer.length(), buffer.lkey());
    }

    /** The same with the parts of the entry given, which the device checks. */
    public ReceiveRequests into(long address, int length, int lkey) {
        if (requests.count() == 0) {
            throw new IllegalStateException("no request was begun: call receive first");
        }
        requests.addEntry(address, length, lkey);
        return this;
    }
}
