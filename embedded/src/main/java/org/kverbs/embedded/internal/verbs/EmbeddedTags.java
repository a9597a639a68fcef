package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.TagVerbs;

/** Changes the lists of tags of an open context. Each call takes the engine's lock. */
record EmbeddedTags(Hca hca, DeviceCalls calls, SharedReceiveVerbs shared) implements TagVerbs {

    @Override
    public int post(long srq, long operations, MemorySegment refused) {
        return calls.call(() -> {
            int refusal = hca.refuse(Operation.POST_TAG_OPERATIONS);
            Srq queue = shared.queue(srq);
            if (refusal < 0 || queue == null || queue.tags == null) {
                Memory.putLong(refused.address(), operations);
                return refusal < 0 ? refusal : -Errno.EINVAL;
            }
            return queue.tags.post(operations, refused.address());
        });
    }
}
