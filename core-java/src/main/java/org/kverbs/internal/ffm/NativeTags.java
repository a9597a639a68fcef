package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.spi.TagVerbs;

/** Tag matching of a device of libibverbs. */
final class NativeTags implements TagVerbs {

    /** {@code ibv_post_srq_ops}; kept, because a segment that is made for each call is garbage to collect. */
    private final MemorySegment post;

    NativeTags(ContextTables tables) {
        post = tables.extended(VerbsContext.POST_SRQ_OPS);
    }

    // man 3 ibv_post_srq_ops: 0 or errno
    @Override
    public int post(long srq, long operations, MemorySegment refused) {
        return post.address() == 0
                ? -Errno.EOPNOTSUPP
                : ContextTables.negated(Downcalls.call(post, srq, operations, refused.address()));
    }
}
