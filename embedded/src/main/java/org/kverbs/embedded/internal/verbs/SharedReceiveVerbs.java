package org.kverbs.embedded.internal.verbs;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.DeviceLimits;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.OpenXrcDomain;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.objects.TagMatcher;
import org.kverbs.embedded.internal.objects.XrcSrq;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvSrq;
import org.kverbs.internal.abi.IbvSrqAttr;
import org.kverbs.internal.abi.IbvSrqAttrMask;
import org.kverbs.internal.abi.IbvSrqInitAttr;
import org.kverbs.internal.abi.IbvSrqInitAttrEx;
import org.kverbs.internal.memory.Memory;

/** Makes and finds the shared receive queues of an open context; called with the lock held. */
final class SharedReceiveVerbs {

    private final Hca hca;
    private final Domains domains;
    private final AsyncEvents events;
    private final Handles<Srq> queues;

    SharedReceiveVerbs(Hca hca, Structures structures, Domains domains, AsyncEvents events) {
        this.hca = hca;
        this.domains = domains;
        this.events = events;
        this.queues = new Handles<>(structures, IbvSrq.SIZE, IbvSrq.HANDLE, hca.quotas.sharedReceiveQueues);
    }

    @Nullable Srq queue(long srq) {
        return queues.get(srq);
    }

    /** Ends the queues, also for the diagnostics and for peers; called when the device is closed. */
    void close() {
        queues.forEach(this::end);
    }

    private void end(Srq srq) {
        srq.forget();
        TagMatcher tags = srq.tags;
        if (tags != null) {
            tags.cq.users.remove(tags);
        }
        XrcSrq xrc = srq.xrc;
        if (xrc != null) {
            xrc.destroy();
            xrc.opened.users--;
            xrc.cq.users.remove(xrc);
            hca.xrcQueues.remove(xrc.number);
        }
    }

    /** Makes a shared receive queue from a {@code struct ibv_srq_init_attr}. */
    long create(long pd, long at) {
        Pd domain = domains.get(pd);
        int most = Memory.getInt(at + IbvSrqInitAttr.ATTR_MAX_WR);
        int entries = Memory.getInt(at + IbvSrqInitAttr.ATTR_MAX_SGE);
        int limit = Memory.getInt(at + IbvSrqInitAttr.ATTR_SRQ_LIMIT);
        DeviceLimits limits = hca.limits;
        boolean fits = most >= 1 && most <= limits.sharedReceives() && entries >= 0 && entries <= limits.entries();
        if (domain == null || !fits || limit > most) {
            return -Errno.EINVAL;
        }
        long structure =
                queues.add(it -> new Srq(hca, events, it, domain, most, Math.max(1, entries)));
        if (structure > 0) {
            domain.users++;
            Memory.putLong(structure + IbvSrq.PD, pd);
            Memory.putInt(at + IbvSrqInitAttr.ATTR_MAX_SGE, Math.max(1, entries));
        }
        return structure;
    }

    /** Makes a queue of XRC from a {@code struct ibv_srq_init_attr_ex}, which begins as the plain structure. */
    long createXrc(long pd, long at, @Nullable OpenXrcDomain opened, @Nullable Cq cq) {
        if (opened == null || cq == null) {
            return -Errno.EINVAL;
        }
        long structure = create(pd, at);
        if (structure > 0) {
            Srq made = queues.require(structure);
            var xrc = new XrcSrq(hca, made, hca.freshSharedQueueNumber(), opened, cq);
            made.xrc = xrc;
            opened.users++;
            cq.users.add(xrc);
            hca.xrcQueues.put(xrc.number, xrc);
        }
        return structure;
    }

    /** Makes a queue with tag matching from a {@code struct ibv_srq_init_attr_ex}. */
    long createTagged(long pd, long at, @Nullable Cq cq) {
        int tags = Memory.getInt(at + IbvSrqInitAttrEx.TM_CAP_MAX_NUM_TAGS);
        int operations = Memory.getInt(at + IbvSrqInitAttrEx.TM_CAP_MAX_OPS);
        if (cq == null || tags < 1 || tags > Limits.TAGS || operations < 1 || operations > Limits.TAGS) {
            return -Errno.EINVAL;
        }
        long structure = create(pd, at);
        if (structure > 0) {
            Srq made = queues.require(structure);
            var matcher = new TagMatcher(hca, made, cq, tags, operations);
            made.tags = matcher;
            cq.users.add(matcher);
        }
        return structure;
    }

    /** Returns the number of a queue of XRC; -EOPNOTSUPP for a basic queue, which has none. */
    int number(long srq) {
        Srq found = queues.get(srq);
        if (found == null) {
            return -Errno.EINVAL;
        }
        return found.xrc == null ? -Errno.EOPNOTSUPP : found.xrc.number;
    }

    /** Changes attributes from a {@code struct ibv_srq_attr}. */
    int modify(long srq, long given, int mask) {
        Srq found = queues.get(srq);
        if (found == null || (mask & ~(IbvSrqAttrMask.IBV_SRQ_MAX_WR | IbvSrqAttrMask.IBV_SRQ_LIMIT)) != 0) {
            return -Errno.EINVAL;
        }
        int most = (mask & IbvSrqAttrMask.IBV_SRQ_MAX_WR) == 0
                ? found.queue.capacity()
                : Memory.getInt(given + IbvSrqAttr.MAX_WR);
        int limit = (mask & IbvSrqAttrMask.IBV_SRQ_LIMIT) == 0
                ? found.limit
                : Memory.getInt(given + IbvSrqAttr.SRQ_LIMIT);
        int least = Math.max(1, found.queue.occupied.count());
        if (most < least || most > hca.limits.sharedReceives() || limit < 0 || limit > most) {
            return -Errno.EINVAL;
        }
        if (most != found.queue.capacity()) {
            found.queue = found.queue.resized(most);
        }
        found.limit = limit;
        return 0;
    }

    /** Fills {@code struct ibv_srq_attr}. */
    int query(long srq, long to) {
        Srq found = queues.get(srq);
        if (found == null) {
            return -Errno.EINVAL;
        }
        Memory.putInt(to + IbvSrqAttr.MAX_WR, found.queue.capacity());
        Memory.putInt(to + IbvSrqAttr.MAX_SGE, found.queue.maxEntries());
        Memory.putInt(to + IbvSrqAttr.SRQ_LIMIT, found.limit);
        return 0;
    }

    int destroy(long srq) {
        Srq found = queues.get(srq);
        if (found == null || found.users > 0) {
            return found == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        end(found);
        found.pd.users--;
        events.forget(srq);
        queues.remove(srq);
        return 0;
    }
}
