package org.kverbs.embedded.internal.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Channel;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.CqOptions;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvCompChannel;
import org.kverbs.internal.abi.IbvCq;
import org.kverbs.internal.abi.IbvCqAttrMask;
import org.kverbs.internal.abi.IbvCqInitAttrEx;
import org.kverbs.internal.abi.IbvCqInitAttrMask;
import org.kverbs.internal.abi.IbvCqWcFlagSets;
import org.kverbs.internal.abi.IbvCreateCqAttrFlags;
import org.kverbs.internal.abi.IbvCreateCqWcFlags;
import org.kverbs.internal.abi.IbvModifyCqAttr;
import org.kverbs.internal.memory.Memory;

/** Makes and finds the completion queues and completion channels of an open context; called with the lock held. */
final class CompletionVerbs {

    private static final int EXTRAS = IbvCreateCqWcFlags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
            | IbvCreateCqWcFlags.IBV_WC_EX_WITH_TM_INFO
            | IbvCreateCqWcFlags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    /** The fields of completions that this device has: it knows no VLANs and no flow tags. */
    private static final long FIELDS = IbvCqWcFlagSets.IBV_WC_STANDARD_FLAGS | EXTRAS;

    private static final int MASK =
            IbvCqInitAttrMask.IBV_CQ_INIT_ATTR_MASK_FLAGS | IbvCqInitAttrMask.IBV_CQ_INIT_ATTR_MASK_PD;
    private static final int FLAGS = IbvCreateCqAttrFlags.IBV_CREATE_CQ_ATTR_SINGLE_THREADED
            | IbvCreateCqAttrFlags.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

    private final Hca hca;
    private final AsyncEvents events;
    /**
     * A channel's structure has no handle field: the number stands in its reference count, which nothing else uses
     * here.
     */
    private final Handles<Channel<Cq>> channels;
    private final Handles<Cq> queues;

    private final Domains domains;

    CompletionVerbs(Hca hca, Structures structures, Domains domains, AsyncEvents events) {
        this.hca = hca;
        this.domains = domains;
        this.events = events;
        this.channels = new Handles<>(structures, IbvCompChannel.SIZE, IbvCompChannel.REFCNT, Quota.none());
        this.queues = new Handles<>(structures, IbvCq.SIZE, IbvCq.HANDLE, hca.quotas.completionQueues);
    }

    /** Ends all timers; called when the device is closed. */
    void close() {
        queues.forEach(Cq::stop);
    }

    @Nullable Channel<Cq> channel(long channel) {
        return channels.get(channel);
    }

    @Nullable Cq queue(long cq) {
        return queues.get(cq);
    }

    long createChannel() {
        long structure = channels.add(at -> new Channel<>(hca.engine));
        Memory.putInt(structure + IbvCompChannel.FD, -1);
        return structure;
    }

    int destroyChannel(long channel) {
        Channel<Cq> found = channels.get(channel);
        if (found == null || queues.any(cq -> cq.channel == found)) {
            return found == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        channels.remove(channel);
        return 0;
    }

    long create(int entries, long channel, int vector) {
        return create(entries, channel, vector, CqOptions.NONE);
    }

    private long create(int entries, long channel, int vector, CqOptions options) {
        Channel<Cq> carrier = channels.get(channel);
        if (entries < 1 || entries > hca.limits.completions() || vector < 0 || vector >= Limits.VECTORS
                || channel != 0 && carrier == null) {
            return -Errno.EINVAL;
        }
        long structure = queues.add(at -> new Cq(hca, events, at, entries, carrier, options));
        if (structure > 0) {
            Memory.putLong(structure + IbvCq.CHANNEL, channel);
            if (options.domain() != null) {
                options.domain().users++;
            }
        }
        return structure;
    }

    /** Makes a completion queue from a {@code struct ibv_cq_init_attr_ex}. */
    long createEx(long at) {
        long fields = Memory.getLong(at + IbvCqInitAttrEx.WC_FLAGS);
        int mask = Memory.getInt(at + IbvCqInitAttrEx.COMP_MASK);
        int flags = (mask & IbvCqInitAttrMask.IBV_CQ_INIT_ATTR_MASK_FLAGS) == 0
                ? 0 : Memory.getInt(at + IbvCqInitAttrEx.FLAGS);
        boolean hasDomain = (mask & IbvCqInitAttrMask.IBV_CQ_INIT_ATTR_MASK_PD) != 0;
        if ((fields & ~FIELDS) != 0 || (mask & ~MASK) != 0 || (flags & ~FLAGS) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        Pd domain = hasDomain ? domains.get(Memory.getLong(at + IbvCqInitAttrEx.PARENT_DOMAIN)) : null;
        if (hasDomain && (domain == null || domain.parent == null)) {
            return -Errno.EINVAL;
        }
        return create(
                Memory.getInt(at + IbvCqInitAttrEx.CQE),
                Memory.getLong(at + IbvCqInitAttrEx.CHANNEL),
                Memory.getInt(at + IbvCqInitAttrEx.COMP_VECTOR),
                new CqOptions(
                        (fields & EXTRAS) != 0,
                        (flags & IbvCreateCqAttrFlags.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0,
                        domain));
    }

    int resize(long cq, int entries) {
        Cq found = queues.get(cq);
        if (found == null || entries < 1 || entries > hca.limits.completions()) {
            return -Errno.EINVAL;
        }
        return found.resize(entries);
    }

    /** Changes a completion queue by a {@code struct ibv_modify_cq_attr}, of which moderation is all. */
    int modify(long cq, MemorySegment attributes) {
        Cq found = queues.get(cq);
        if (found == null || attributes.get(JAVA_INT, IbvModifyCqAttr.ATTR_MASK)
                != IbvCqAttrMask.IBV_CQ_ATTR_MODERATE) {
            return -Errno.EINVAL;
        }
        found.moderate(
                Short.toUnsignedInt(attributes.get(JAVA_SHORT, IbvModifyCqAttr.MODERATE_CQ_COUNT)),
                Short.toUnsignedInt(attributes.get(JAVA_SHORT, IbvModifyCqAttr.MODERATE_CQ_PERIOD)));
        return 0;
    }

    int destroy(long cq) {
        Cq found = queues.get(cq);
        if (found == null || !found.users.isEmpty()) {
            return found == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        found.moderate(0, 0); // announces what waited, so the events are removed after it
        if (found.channel != null) {
            found.channel.removeIf(each -> each == found);
        }
        events.forget(cq);
        queues.remove(cq);
        if (found.options.domain() != null) {
            found.options.domain().users--;
        }
        return 0;
    }
}
