package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.TagVerbs;

/** Tag matching of a device of libibverbs. */
record NativeTags(ContextTables tables) implements TagVerbs {

    // man 3 ibv_post_srq_ops: 0 or errno
    @Override
    public int post(long srq, long operations, MemorySegment refused) {
        return tables.call(VerbsContext.POST_SRQ_OPS, srq, operations, refused.address(), 0, 0);
    }
}
