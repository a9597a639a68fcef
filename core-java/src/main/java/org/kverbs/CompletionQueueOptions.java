package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.CompletionField;
import org.kverbs.internal.abi.IbvCqInitAttrEx;
import org.kverbs.internal.abi.IbvCqInitAttrMask;
import org.kverbs.internal.abi.IbvCqWcFlagSets;
import org.kverbs.internal.abi.IbvCreateCqAttrFlags;

/**
 * What only {@code ibv_create_cq_ex} can give a completion queue. A queue with one of these options is made by that
 * call, and not every device has each of them. Immutable. Source: {@code man 3 ibv_create_cq_ex}.
 *
 * @param fields the fields that each completion of the queue has, in addition to those of {@code struct ibv_wc}
 * @param singleThreaded whether the program promises that one thread at a time uses the queue and destroys or resets
 *     its queue pairs, so that the driver takes no lock ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED})
 * @param ignoresOverrun whether a queue that is full stays usable and loses completions ({@code
 *     IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}); otherwise it breaks, and the program notices
 * @param parentDomain the parent domain whose thread domain and allocators the driver uses for the queue, or null for
 *     none; see {@link ProtectionDomain#parentDomain}
 */
public record CompletionQueueOptions(
        Set<CompletionField> fields,
        boolean singleThreaded,
        boolean ignoresOverrun,
        @Nullable ProtectionDomain parentDomain) {

    /** No option: the queue is as any other. */
    public static final CompletionQueueOptions NONE = new CompletionQueueOptions(Set.of(), false, false, null);

    /**
     * Copies the set of fields.
     *
     * @throws IllegalArgumentException if the domain is not a parent domain
     */
    public CompletionQueueOptions {
        fields = Set.copyOf(fields);
        if (parentDomain != null && parentDomain.parent() == null) {
            throw new IllegalArgumentException(
                    parentDomain.describe() + " is not a parent domain: make one with parentDomain(threadDomain)");
        }
    }

    /** Returns a copy with further fields. */
    public CompletionQueueOptions with(CompletionField... more) {
        EnumSet<CompletionField> all = EnumSet.noneOf(CompletionField.class);
        all.addAll(fields);
        all.addAll(Set.of(more));
        return new CompletionQueueOptions(all, singleThreaded, ignoresOverrun, parentDomain);
    }

    /** Returns a copy with {@link #singleThreaded} set. */
    public CompletionQueueOptions asSingleThreaded() {
        return new CompletionQueueOptions(fields, true, ignoresOverrun, parentDomain);
    }

    /** Returns a copy with {@link #ignoresOverrun} set. */
    public CompletionQueueOptions ignoringOverrun() {
        return new CompletionQueueOptions(fields, singleThreaded, true, parentDomain);
    }

    /** Returns a copy with this parent domain. */
    public CompletionQueueOptions with(ProtectionDomain domain) {
        return new CompletionQueueOptions(fields, singleThreaded, ignoresOverrun, domain);
    }

    /** Returns whether no option is set. */
    boolean isNone() {
        return fields.isEmpty() && !singleThreaded && !ignoresOverrun && parentDomain == null;
    }

    /** Returns the fields that a queue with these options has, as {@code wc_flags}. */
    int wcFlags() {
        return IbvCqWcFlagSets.IBV_WC_STANDARD_FLAGS | CompletionField.mask(fields);
    }

    /** Writes its part of {@code struct ibv_cq_init_attr_ex}. */
    void writeTo(MemorySegment init) {
        int flags = (singleThreaded ? IbvCreateCqAttrFlags.IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0)
                | (ignoresOverrun ? IbvCreateCqAttrFlags.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN : 0);
        int mask = (flags == 0 ? 0 : IbvCqInitAttrMask.IBV_CQ_INIT_ATTR_MASK_FLAGS)
                | (parentDomain == null ? 0 : IbvCqInitAttrMask.IBV_CQ_INIT_ATTR_MASK_PD);
        init.set(JAVA_LONG, IbvCqInitAttrEx.WC_FLAGS, wcFlags());
        init.set(JAVA_INT, IbvCqInitAttrEx.COMP_MASK, mask);
        init.set(JAVA_INT, IbvCqInitAttrEx.FLAGS, flags);
        init.set(JAVA_LONG, IbvCqInitAttrEx.PARENT_DOMAIN, parentDomain == null ? 0 : parentDomain.handle());
    }

    /** Returns whole sentences that say which drivers of rdma-core have what is set. */
    String needs() {
        String ofFields = EnumSet.allOf(CompletionField.class).stream()
                .filter(fields::contains)
                .map(CompletionField::needs)
                .collect(Collectors.joining(" "));
        return (ofFields
                        + (singleThreaded ? " The drivers efa, mlx4 and mlx5 have single-threaded queues." : "")
                        + (ignoresOverrun ? " The driver mlx5 has queues that ignore an overrun." : "")
                        + (parentDomain == null
                                ? ""
                                : " The drivers efa, hns, ionic and mlx5 make completion queues in a parent domain."))
                .strip();
    }

    /** Returns what is set: {@code fields=[TIMESTAMP], single-threaded}; empty if nothing is. */
    @Override
    public String toString() {
        var parts = new ArrayList<String>(4);
        if (!fields.isEmpty()) {
            parts.add("fields=" + EnumSet.copyOf(fields));
        }
        if (singleThreaded) {
            parts.add("single-threaded");
        }
        if (ignoresOverrun) {
            parts.add("ignores overrun");
        }
        if (parentDomain != null) {
            parts.add("in a parent domain");
        }
        return String.join(", ", parts);
    }
}
