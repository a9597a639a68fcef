package org.kverbs.internal.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.DomainVerbs;
import org.kverbs.spi.QueueMemory;

/** The thread domains and parent domains of an open device of libibverbs. */
record NativeDomains(long context, ContextTables tables) implements DomainVerbs {

    // man 3 ibv_alloc_td: pointer or NULL with errno
    @Override
    public long allocThreadDomain(MemorySegment initAttributes) {
        return tables.make(VerbsContext.ALLOC_TD, context, initAttributes.address());
    }

    // man 3 ibv_dealloc_td: 0 or errno
    @Override
    public int deallocThreadDomain(long td) {
        return tables.call(VerbsContext.DEALLOC_TD, td);
    }

    // man 3 ibv_alloc_parent_domain: pointer or NULL with errno
    @Override
    public long allocParentDomain(MemorySegment initAttributes) {
        return tables.make(VerbsContext.ALLOC_PARENT_DOMAIN, context, initAttributes.address());
    }

    @Override
    public long allocParentDomain(MemorySegment initAttributes, QueueMemory memory, Arena life) {
        AllocatorCallbacks.write(initAttributes, memory, life);
        return allocParentDomain(initAttributes);
    }
}
