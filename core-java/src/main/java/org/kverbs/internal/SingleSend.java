package org.kverbs.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.memory.Memory;

/**
 * Native memory of one signaled send request with one buffer. What all such requests share is written once, so that a
 * post writes seven fields. For one thread at a time. The garbage collector frees the memory.
 */
public final class SingleSend {

    private static final int CACHE_LINE = 64;

    private final MemorySegment memory = Arena.ofAuto().allocate(IbvSendWr.SIZE + IbvSge.SIZE, CACHE_LINE);
    private final long address = memory.address();

    /** Allocates the memory. */
    public SingleSend() {
        Memory.putLong(address + IbvSendWr.SG_LIST, address + IbvSendWr.SIZE);
        Memory.putLong(address + IbvSendWr.SEND_FLAGS, WorkRequestArena.pair(IbvSendFlags.IBV_SEND_SIGNALED, 0));
    }

    /**
     * Writes a request and returns its address.
     *
     * @param remoteAddress the peer's memory, of a write or a read; as {@code rkey}, without meaning in a send
     * @param buffer the address of the buffer
     */
    public long write(
            long workRequestId, int opcode, long remoteAddress, int rkey, long buffer, int length, int lkey) {
        long request = Memory.known(address);
        Memory.putLong(request + IbvSendWr.WR_ID, workRequestId);
        Memory.putLong(request + IbvSendWr.NUM_SGE, WorkRequestArena.pair(1, opcode));
        Memory.putLong(request + IbvSendWr.WR_RDMA_REMOTE_ADDR, remoteAddress);
        Memory.putInt(request + IbvSendWr.WR_RDMA_RKEY, rkey);
        long entry = request + IbvSendWr.SIZE;
        Memory.putLong(entry + IbvSge.ADDR, buffer);
        Memory.putLong(entry + IbvSge.LENGTH, WorkRequestArena.pair(length, lkey));
        return request;
    }
}
