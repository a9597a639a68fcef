package org.kverbs.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvRecvWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.memory.Memory;

/**
 * Native memory of one receive request with one buffer. What all such requests share is written once, so that a post
 * writes three fields. For one thread at a time. The garbage collector frees the memory.
 */
public final class SingleReceive {

    private static final int CACHE_LINE = 64;

    private final MemorySegment memory = Arena.ofAuto().allocate(IbvRecvWr.SIZE + IbvSge.SIZE, CACHE_LINE);
    private final long address = memory.address();

    /** Allocates the memory. */
    public SingleReceive() {
        Memory.putLong(address + IbvRecvWr.SG_LIST, address + IbvRecvWr.SIZE);
        Memory.putInt(address + IbvRecvWr.NUM_SGE, 1);
    }

    /** Writes a request and returns its address. */
    public long write(long workRequestId, long buffer, int length, int lkey) {
        long request = Memory.known(address);
        Memory.putLong(request + IbvRecvWr.WR_ID, workRequestId);
        long entry = request + IbvRecvWr.SIZE;
        Memory.putLong(entry + IbvSge.ADDR, buffer);
        Memory.putLong(entry + IbvSge.LENGTH, WorkRequestArena.pair(length, lkey));
        return request;
    }
}
