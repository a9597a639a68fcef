package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.SharedReceiveQueueAttributes;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvSrqInitAttr;
import org.kverbs.internal.abi.IbvSrqInitAttrEx;
import org.kverbs.internal.abi.IbvSrqInitAttrMask;
import org.kverbs.internal.abi.IbvSrqType;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.DriverQueuePairs;

/** Makes the queue pairs and the shared receive queues of a protection domain. */
final class DomainQueues {

    /** What each queue of {@link #special} is made with. */
    private static final int SPECIAL = IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_TYPE
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_PD
            | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_CQ;

    private DomainQueues() {}

    /** See {@link ProtectionDomain#queuePair}. */
    static QueuePair queuePair(ProtectionDomain pd, QueuePairInitAttributes attributes) {
        Resource[] parents = requireFitting(pd, attributes);
        try (Arena arena = Arena.ofConfined()) {
            boolean spreads = attributes.indirectionTable() != null;
            boolean extended = attributes.extended() || spreads || attributes.maxTsoHeader() > 0;
            MemorySegment init = arena.allocate(IbvQpInitAttrEx.SIZE, JAVA_LONG.byteAlignment());
            if (spreads) {
                attributes.writeSpreading(init, pd.handle(), arena);
            } else {
                attributes.writeTo(init);
            }
            attributes.features().forEach(feature -> requireSupported(pd, feature));
            if (attributes.maxTsoHeader() > 0) {
                requireSegmentation(pd, attributes.type());
            }
            String operation = (extended ? "ibv_create_qp_ex(" : "ibv_create_qp(") + pd.context().device().name() + ", "
                    + attributes + ")";
            return Resource.create(
                    errno -> refusal(pd, attributes, operation, errno),
                    () -> extended
                            ? createExtended(pd, attributes, init)
                            : pd.context().verbs.createQueuePair(pd.handle(), init),
                    h -> new QueuePair(
                            pd, attributes, Structures.CAPABILITIES.read(init.asSlice(IbvQpInitAttr.CAP)), h, null),
                    parents);
        }
    }

    private static Resource[] requireFitting(ProtectionDomain pd, QueuePairInitAttributes attributes) {
        var parents = new ArrayList<Resource>(List.of(pd, attributes.sendCq(), attributes.recvCq()));
        if (attributes.srq() != null) {
            parents.add(attributes.srq());
        }
        if (attributes.indirectionTable() != null) {
            parents.add(attributes.indirectionTable());
        }
        parents.forEach(part -> requireSameContext(pd, part));
        attributes.requireFittingReceives();
        return parents.toArray(Resource[]::new);
    }

    /** See {@link ProtectionDomain#queuePair(QueuePairInitAttributes, DriverQueuePairs)}. */
    static QueuePair queuePair(ProtectionDomain pd, QueuePairInitAttributes attributes, DriverQueuePairs driver) {
        if (attributes.type() != QueuePairType.DRIVER) {
            throw new IllegalArgumentException(
                    driver.function() + " makes queue pairs of type DRIVER, not " + attributes.type());
        }
        Resource[] parents = requireFitting(pd, attributes);
        String device = pd.context().device().name();
        String operation = driver.function() + "(" + device + ", " + attributes + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvQpInitAttrEx.SIZE, JAVA_LONG.byteAlignment());
            attributes.writeTo(init, pd.handle(), true);
            return Resource.create(
                    errno -> SystemErrors.isMissing(errno)
                            ? SystemErrors.optional(device, operation, errno, driver.needs())
                            : refusal(pd, attributes, operation, errno),
                    () -> driver.create(pd.context().verbs, init),
                    h -> new QueuePair(
                            pd, attributes, Structures.CAPABILITIES.read(init.asSlice(IbvQpInitAttr.CAP)), h, driver),
                    parents);
        }
    }

    /**
     * Refuses a feature that the device does not have. The driver alone does not tell: that of Soft-RoCE accepts what
     * an older kernel then refuses request by request.
     */
    private static void requireSupported(ProtectionDomain pd, Feature feature) {
        if (!pd.context().supports(feature)) {
            String operation = feature.verb() + "(" + pd.context().device().name() + ")";
            throw pd.context().refusal(feature, operation, Errno.EOPNOTSUPP);
        }
    }

    /** Refuses a type that the device segments nothing for: drivers take the limit of the header nevertheless. */
    private static void requireSegmentation(ProtectionDomain pd, QueuePairType type) {
        if (!type.isIn(pd.context().queryDeviceEx().segmentation().queuePairTypes())) {
            String operation = Feature.SEGMENTATION.verb() + "(" + pd.context().device().name() + ", " + type + ")";
            throw pd.context().refusal(Feature.SEGMENTATION, operation, Errno.EOPNOTSUPP);
        }
    }

    private static RdmaSystemException refusal(
            ProtectionDomain pd, QueuePairInitAttributes attributes, String operation, int errno) {
        boolean isMissing = SystemErrors.isMissing(errno);
        if (isMissing && attributes.rxHash() != null) {
            return WorkQueue.refusal(pd.context(), operation, errno);
        }
        if (isMissing && !attributes.features().isEmpty()) {
            return pd.context().refusal(attributes.newestFeature(), operation, errno);
        }
        if (isMissing && attributes.type() == QueuePairType.XRC_SEND) {
            return pd.context().refusal(Feature.XRC, operation, errno);
        }
        if (isMissing && attributes.type() == QueuePairType.RAW_PACKET) {
            return pd.context().refusal(Feature.RAW_PACKET, operation, errno);
        }
        return SystemErrors.refused(
                operation,
                errno,
                () -> pd.context().limits.excess((excess, limits) -> excess.of(attributes.capabilities(), limits)));
    }

    static void requireSameContext(ProtectionDomain pd, Resource part) {
        if (contextOf(part) != pd.context()) {
            throw new IllegalArgumentException(part.describe() + " belongs to another open device than "
                    + pd.describe() + "; make both from the same context");
        }
    }

    private static long createExtended(
            ProtectionDomain pd, QueuePairInitAttributes attributes, MemorySegment init) {
        if (attributes.indirectionTable() != null) {
            return pd.context().verbs.createQueuePairEx(init);
        }
        attributes.writeTo(init, pd.handle(), true);
        long result = pd.context().verbs.createQueuePairEx(init);
        if (result == -Errno.EOPNOTSUPP) {
            attributes.writeTo(init, pd.handle(), false);
            result = pd.context().verbs.createQueuePairEx(init);
        }
        return result;
    }

    private static Context contextOf(Resource parent) {
        return switch (parent) {
            case CompletionQueue cq -> cq.context();
            case SharedReceiveQueue srq -> srq.protectionDomain().context();
            case ProtectionDomain domain -> domain.context();
            case XrcDomain domain -> domain.context();
            case ReceiveIndirectionTable table -> table.context();
            default -> throw new IllegalStateException(parent.describe());
        };
    }

    /** See {@link ProtectionDomain#sharedReceiveQueue(SharedReceiveQueueAttributes)}. */
    static SharedReceiveQueue sharedReceiveQueue(ProtectionDomain pd, SharedReceiveQueueAttributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvSrqInitAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.SHARED_RECEIVE_QUEUE.write(attributes, init.asSlice(IbvSrqInitAttr.ATTR));
            return Resource.create(
                    "ibv_create_srq(" + pd.context().device().name() + ", " + attributes + ")",
                    () -> excess(pd, attributes),
                    () -> pd.context().verbs.createSharedReceiveQueue(pd.handle(), init),
                    h -> new SharedReceiveQueue(
                            pd, Structures.SHARED_RECEIVE_QUEUE.read(init.asSlice(IbvSrqInitAttr.ATTR)), h, null),
                    pd);
        }
    }

    /** See {@link ProtectionDomain#sharedReceiveQueue(SharedReceiveQueueAttributes, XrcDomain, CompletionQueue)}. */
    static SharedReceiveQueue sharedReceiveQueue(
            ProtectionDomain pd, SharedReceiveQueueAttributes attributes, XrcDomain domain, CompletionQueue cq) {
        requireSameContext(pd, domain);
        requireSameContext(pd, cq);
        String operation = "ibv_create_srq_ex(" + pd.context().device().name() + ", XRC, " + attributes + ")";
        return special(pd, attributes, Feature.XRC, operation, new SharedReceiveQueue.Special(domain, cq), init -> {
            init.set(JAVA_INT, IbvSrqInitAttrEx.COMP_MASK, SPECIAL | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_XRCD);
            init.set(JAVA_INT, IbvSrqInitAttrEx.SRQ_TYPE, IbvSrqType.IBV_SRQT_XRC);
            init.set(JAVA_LONG, IbvSrqInitAttrEx.XRCD, domain.handle());
        });
    }

    /** See {@link ProtectionDomain#sharedReceiveQueue(SharedReceiveQueueAttributes, int, int, CompletionQueue)}. */
    static SharedReceiveQueue sharedReceiveQueue(
            ProtectionDomain pd,
            SharedReceiveQueueAttributes attributes,
            int maxTags,
            int maxOperations,
            CompletionQueue cq) {
        Ranges.require("maxTags", maxTags, 1, Integer.MAX_VALUE);
        Ranges.require("maxOperations", maxOperations, 1, Integer.MAX_VALUE);
        requireSameContext(pd, cq);
        String operation = "ibv_create_srq_ex(%s, TM, %s, max_num_tags=%d, max_ops=%d)"
                .formatted(pd.context().device().name(), attributes, maxTags, maxOperations);
        var special = new SharedReceiveQueue.Special(null, cq);
        return special(pd, attributes, Feature.TAG_MATCHING, operation, special, init -> {
            init.set(JAVA_INT, IbvSrqInitAttrEx.COMP_MASK, SPECIAL | IbvSrqInitAttrMask.IBV_SRQ_INIT_ATTR_TM);
            init.set(JAVA_INT, IbvSrqInitAttrEx.SRQ_TYPE, IbvSrqType.IBV_SRQT_TM);
            init.set(JAVA_INT, IbvSrqInitAttrEx.TM_CAP_MAX_NUM_TAGS, maxTags);
            init.set(JAVA_INT, IbvSrqInitAttrEx.TM_CAP_MAX_OPS, maxOperations);
        });
    }

    /** Makes a queue whose receives complete in its own completion queue ({@code ibv_create_srq_ex}). */
    private static SharedReceiveQueue special(
            ProtectionDomain pd,
            SharedReceiveQueueAttributes attributes,
            Feature feature,
            String operation,
            SharedReceiveQueue.Special special,
            Consumer<MemorySegment> write) {
        Resource[] parents = special.domain() == null
                ? new Resource[] {pd, special.cq()}
                : new Resource[] {pd, special.domain(), special.cq()};
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvSrqInitAttrEx.SIZE, JAVA_LONG.byteAlignment());
            Structures.SHARED_RECEIVE_QUEUE.write(attributes, init.asSlice(IbvSrqInitAttrEx.ATTR));
            init.set(JAVA_LONG, IbvSrqInitAttrEx.PD, pd.handle());
            init.set(JAVA_LONG, IbvSrqInitAttrEx.CQ, special.cq().handle());
            write.accept(init);
            return Resource.create(
                    errno -> SystemErrors.isMissing(errno)
                            ? pd.context().refusal(feature, operation, errno)
                            : SystemErrors.refused(operation, errno, () -> excess(pd, attributes)),
                    () -> pd.context().verbs.xrc().createSharedReceiveQueue(init),
                    h -> new SharedReceiveQueue(
                            pd, Structures.SHARED_RECEIVE_QUEUE.read(init.asSlice(IbvSrqInitAttrEx.ATTR)), h, special),
                    parents);
        }
    }

    private static String excess(ProtectionDomain pd, SharedReceiveQueueAttributes attributes) {
        return pd.context().limits.excess((excess, limits) -> excess
                .of("max_wr", attributes.maxWr(), "max_srq_wr", limits.maxSrqWr())
                .of("max_sge", attributes.maxSge(), "max_srq_sge", limits.maxSrqSge()));
    }
}
