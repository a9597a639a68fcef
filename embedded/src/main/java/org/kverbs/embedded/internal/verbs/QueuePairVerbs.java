package org.kverbs.embedded.internal.verbs;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Mw;
import org.kverbs.embedded.internal.objects.OpenXrcDomain;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Referenced;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.embedded.internal.transport.QpAttributes;
import org.kverbs.embedded.internal.transport.QpHandle;
import org.kverbs.embedded.internal.transport.QpInit;
import org.kverbs.embedded.internal.transport.SendQueue;
import org.kverbs.embedded.internal.transport.WqTable;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvMwBind;
import org.kverbs.internal.abi.IbvMwType;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.memory.Memory;

/**
 * Makes and finds the queue pairs of an open context, and binds windows and attaches multicast groups; called with the
 * lock held.
 */
final class QueuePairVerbs {

    private final Hca hca;
    private final AsyncEvents events;
    private final Domains domains;
    private final CompletionVerbs completions;
    private final SharedReceiveVerbs shared;
    private final Handles<OpenXrcDomain> xrcDomains;
    private final Handles<WqTable> tables;
    private final MemoryVerbs memory;
    private final Referenced referenced;
    private final Handles<QpAttributes> attributes;
    private final Handles<Qp> queuePairs;

    QueuePairVerbs(
            Hca hca,
            Structures structures,
            AsyncEvents events,
            Domains domains,
            CompletionVerbs completions,
            SharedReceiveVerbs shared,
            Handles<OpenXrcDomain> xrcDomains,
            Handles<WqTable> tables,
            MemoryVerbs memory,
            AddressVerbs addresses) {
        this.hca = hca;
        this.events = events;
        this.domains = domains;
        this.completions = completions;
        this.shared = shared;
        this.xrcDomains = xrcDomains;
        this.tables = tables;
        this.memory = memory;
        this.referenced = new Referenced(memory.regions(), memory.windows(), addresses.handles());
        this.attributes = new Handles<>(structures, IbvQpAttr.SIZE + 8, IbvQpAttr.SIZE, Quota.none());
        this.queuePairs = new Handles<>(structures, IbvQp.SIZE, IbvQp.HANDLE, hca.quotas.queuePairs);
    }

    @Nullable Qp queuePair(long qp) {
        return queuePairs.get(qp);
    }

    /** Destroys all queue pairs; called when the device is closed. */
    void close() {
        queuePairs.forEach(qp -> {
            hca.multicast.forget(qp);
            if (qp.handles.close(events)) {
                qp.destroy();
            }
        });
    }

    /** Makes a queue pair from a {@code struct ibv_qp_init_attr}, and updates its {@code cap}. */
    long create(long pd, long initAttributes) {
        boolean isRaw = Memory.getInt(initAttributes + IbvQpInitAttr.QP_TYPE) == IbvQpType.IBV_QPT_RAW_PACKET;
        if (isRaw && !hca.link.carriesFrames()) {
            return -Errno.EOPNOTSUPP;
        }
        QpInit init = QpInit.read(initAttributes, domains.get(pd), completions::queue, shared::queue, hca.limits);
        return init == null ? -Errno.EINVAL : create(pd, init, null, initAttributes + IbvQpInitAttr.CAP);
    }

    private long create(long pd, QpInit init, @Nullable OpenXrcDomain opened, long capabilities) {
        int number = hca.freshQueuePairNumber();
        long structure =
                queuePairs.add(at -> new Qp(hca, new QpHandle(events, at, opened), referenced, number, init));
        if (structure > 0) {
            Memory.putLong(structure + IbvQp.PD, pd);
            Memory.putLong(structure + IbvQp.SEND_CQ, init.sendCq() == null ? 0 : init.sendCq().address);
            Memory.putLong(structure + IbvQp.RECV_CQ, init.recvCq() == null ? 0 : init.recvCq().address);
            name(structure, number, init.type());
            enlist(structure, number, init);
            if (opened != null) {
                opened.users++;
            }
            attributes(queuePairs.require(structure)).writeCapabilities(capabilities);
        }
        return structure;
    }

    private static void name(long structure, int number, int type) {
        Memory.putInt(structure + IbvQp.QP_NUM, number);
        Memory.putInt(structure + IbvQp.QP_TYPE, type);
    }

    /** Makes an XRC_RECV queue pair in a domain, and updates its {@code cap}. */
    private long createXrcReceiver(@Nullable OpenXrcDomain opened, long capabilities) {
        return opened == null
                ? -Errno.EINVAL : create(0, QpInit.ofXrcReceiver(opened.domain), opened, capabilities);
    }

    /** Opens an XRC_RECV queue pair of a domain by its number, for this context. */
    long openXrcReceiver(@Nullable OpenXrcDomain opened, int number) {
        Qp found = hca.queuePairs.get(number);
        if (opened == null || found == null || found.domain != opened.domain) {
            return -Errno.EINVAL;
        }
        long structure = queuePairs.add(at -> found);
        if (structure > 0) {
            name(structure, number, found.type);
            Memory.putInt(structure + IbvQp.STATE, found.state);
            opened.users++;
            found.handles.open(new QpHandle(events, structure, opened));
        }
        return structure;
    }

    /**
     * Adds the queue pair to the tables that find it. If that fails, for example for lack of memory, the queue pair is
     * destroyed.
     */
    private void enlist(long structure, int number, QpInit init) {
        Qp qp = queuePairs.require(structure);
        init.countUsers(1);
        try {
            qp.keep(init.domain() == null
                    ? attributes.require(attributes.add(at -> new QpAttributes(qp, at)))
                    : QpAttributes.ofShared(qp));
            hca.queuePairs.put(number, qp);
            if (init.sendCq() != null) {
                init.sendCq().users.add(qp);
            }
            if (init.recvCq() != null) {
                init.recvCq().users.add(qp);
            }
        } catch (Throwable e) {
            qp.destroy();
            forgetAttributes(qp);
            queuePairs.remove(structure);
            throw e;
        }
    }

    /** Makes a queue pair from a {@code struct ibv_qp_init_attr_ex}, and updates its {@code cap}. */
    long createEx(long at) {
        if (SpreadReader.isAskedFor(Memory.getInt(at + IbvQpInitAttrEx.COMP_MASK))) {
            return createSpreading(at);
        }
        int type = Memory.getInt(at + IbvQpInitAttrEx.QP_TYPE);
        boolean receiver = type == IbvQpType.IBV_QPT_XRC_RECV;
        int known = receiver
                ? IbvQpInitAttrMask.IBV_QP_INIT_ATTR_XRCD
                : IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
                        | (canSegment(type) ? IbvQpInitAttrMask.IBV_QP_INIT_ATTR_MAX_TSO_HEADER : 0);
        int mask = Memory.getInt(at + IbvQpInitAttrEx.COMP_MASK);
        long operations = Memory.getLong(at + IbvQpInitAttrEx.SEND_OPS_FLAGS);
        if ((mask & ~known) != 0 || (operations & ~SendQueue.operations(type)) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        if (receiver) {
            return createXrcReceiver(
                    xrcDomains.get(Memory.getLong(at + IbvQpInitAttrEx.XRCD)), at + IbvQpInitAttrEx.CAP);
        }
        boolean segments = (mask & IbvQpInitAttrMask.IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0;
        int header = Short.toUnsignedInt(Memory.getShort(at + IbvQpInitAttrEx.MAX_TSO_HEADER));
        if (segments && header > Limits.SEGMENT_HEADER) {
            return Refusal.because(
                    Errno.EINVAL,
                    "max_tso_header %d is above the device's limit of %d.".formatted(header, Limits.SEGMENT_HEADER));
        }
        long structure = create(Memory.getLong(at + IbvQpInitAttrEx.PD), at); // both begin with the same fields
        if (structure > 0 && segments) {
            queuePairs.require(structure).sends.segment(header);
        }
        if (structure > 0 && (mask & IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
            queuePairs.require(structure).sends.permit(operations);
        }
        return structure;
    }

    private static boolean canSegment(int type) {
        return type == IbvQpType.IBV_QPT_UD || type == IbvQpType.IBV_QPT_RAW_PACKET;
    }

    /** Makes a queue pair with an indirection table. */
    private long createSpreading(long at) {
        if (!hca.link.carriesFrames()) {
            return -Errno.EOPNOTSUPP;
        }
        var reader = new SpreadReader(tables);
        int result = reader.read(at);
        if (result < 0) {
            return result;
        }
        long pd = Memory.getLong(at + IbvQpInitAttrEx.PD);
        Pd domain = domains.get(pd);
        return domain == null
                ? -Errno.EINVAL
                : create(pd, QpInit.ofSpread(domain, reader.spread()), null, at + IbvQpInitAttrEx.CAP);
    }

    private QpAttributes attributes(Qp qp) {
        return Objects.requireNonNull(qp.attributes());
    }

    private void forgetAttributes(Qp qp) {
        QpAttributes kept = qp.attributes();
        if (kept != null && !kept.isShared()) {
            attributes.remove(kept.kept);
        }
    }

    /** Changes attributes from a {@code struct ibv_qp_attr}. */
    int modify(long qp, long given, int mask) {
        Qp found = queuePairs.get(qp);
        return found == null ? -Errno.EINVAL : attributes(found).modify(given, mask);
    }

    int query(long qp, long to, long initAttributes) {
        Qp found = queuePairs.get(qp);
        return found == null ? -Errno.EINVAL : attributes(found).query(to, initAttributes);
    }

    Map<String, Long> counters(long qp) {
        Qp found = queuePairs.get(qp);
        return found == null ? Map.of() : found.counted();
    }

    int destroy(long qp) {
        Qp found = queuePairs.get(qp);
        if (found == null || hca.multicast.contains(found) || hca.steering.leadsTo(found)) {
            return found == null ? -Errno.EINVAL : -Errno.EBUSY;
        }
        if (found.handles.close(qp)) {
            found.destroy();
            forgetAttributes(found);
        }
        events.forget(qp);
        queuePairs.remove(qp);
        return 0;
    }

    int attachMulticast(long qp, long gidHigh, long gidLow) {
        Qp found = queuePairs.get(qp);
        return found == null ? -Errno.EINVAL : hca.multicast.attach(found, gidHigh, gidLow);
    }

    int detachMulticast(long qp, long gidHigh, long gidLow) {
        Qp found = queuePairs.get(qp);
        return found == null ? -Errno.EINVAL : hca.multicast.detach(found, gidHigh, gidLow);
    }

    /** Posts the binding of a type 1 window from a {@code struct ibv_mw_bind}. */
    int bindWindow(long qp, long mw, long bind) {
        Qp by = queuePairs.get(qp);
        Mw window = memory.window(mw);
        long length = Memory.getLong(bind + IbvMwBind.BIND_INFO_LENGTH);
        Mr region = memory.region(Memory.getLong(bind + IbvMwBind.BIND_INFO_MR));
        if (by == null || window == null || window.type != IbvMwType.IBV_MW_TYPE_1
                || by.type == IbvQpType.IBV_QPT_UD || by.type == IbvQpType.IBV_QPT_RAW_PACKET || by.domain != null
                || by.state < IbvQpState.IBV_QPS_RTS || region == null && length != 0) {
            return -Errno.EINVAL;
        }
        int result = by.sends.postBind(
                Memory.getLong(bind + IbvMwBind.WR_ID),
                Memory.getInt(bind + IbvMwBind.SEND_FLAGS),
                window,
                region,
                Memory.getLong(bind + IbvMwBind.BIND_INFO_ADDR),
                length,
                Memory.getInt(bind + IbvMwBind.BIND_INFO_MW_ACCESS_FLAGS));
        if (result == 0) {
            by.posted();
        }
        return result;
    }
}
