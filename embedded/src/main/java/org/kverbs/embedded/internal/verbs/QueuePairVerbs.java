package org.kverbs.embedded.internal.verbs;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Mw;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Referenced;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.embedded.internal.transport.QpAttributes;
import org.kverbs.embedded.internal.transport.QpInit;
import org.kverbs.embedded.internal.transport.SendQueue;
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
            MemoryVerbs memory,
            AddressVerbs addresses) {
        this.hca = hca;
        this.events = events;
        this.domains = domains;
        this.completions = completions;
        this.shared = shared;
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
            qp.destroy();
        });
    }

    /** Makes a queue pair from a {@code struct ibv_qp_init_attr}, and updates its {@code cap}. */
    long create(long pd, long initAttributes) {
        boolean isRaw = Memory.getInt(initAttributes + IbvQpInitAttr.QP_TYPE) == IbvQpType.IBV_QPT_RAW_PACKET;
        if (isRaw && !hca.link.carriesFrames()) {
            return -Errno.EOPNOTSUPP;
        }
        QpInit init = QpInit.read(initAttributes, domains.get(pd), completions::queue, shared::queue, hca.limits);
        if (init == null) {
            return -Errno.EINVAL;
        }
        int number = hca.freshQueuePairNumber();
        long structure =
                queuePairs.add(at -> new Qp(hca, events, referenced, at, number, init));
        if (structure > 0) {
            Memory.putLong(structure + IbvQp.PD, pd);
            Memory.putLong(structure + IbvQp.SEND_CQ, init.sendCq().address);
            Memory.putLong(structure + IbvQp.RECV_CQ, init.recvCq().address);
            Memory.putInt(structure + IbvQp.QP_NUM, number);
            Memory.putInt(structure + IbvQp.QP_TYPE, init.type());
            enlist(structure, number, init);
            attributes(queuePairs.require(structure)).writeCapabilities(initAttributes + IbvQpInitAttr.CAP);
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
            qp.keep(attributes.add(at -> new QpAttributes(qp, at)));
            hca.queuePairs.put(number, qp);
            init.sendCq().users.add(qp);
            init.recvCq().users.add(qp);
        } catch (Throwable e) {
            qp.destroy();
            if (qp.kept() != 0) {
                attributes.remove(qp.kept());
            }
            queuePairs.remove(structure);
            throw e;
        }
    }

    /** Makes a queue pair from a {@code struct ibv_qp_init_attr_ex}, and updates its {@code cap}. */
    long createEx(long at) {
        int known = IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        int mask = Memory.getInt(at + IbvQpInitAttrEx.COMP_MASK);
        long operations = Memory.getLong(at + IbvQpInitAttrEx.SEND_OPS_FLAGS);
        if ((mask & ~known) != 0
                || (operations & ~SendQueue.operations(Memory.getInt(at + IbvQpInitAttrEx.QP_TYPE))) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        return create(Memory.getLong(at + IbvQpInitAttrEx.PD), at); // both structures begin with the same fields
    }

    private QpAttributes attributes(Qp qp) {
        return attributes.require(qp.kept());
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
        found.destroy();
        attributes.remove(found.kept());
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
        if (by == null || window == null || window.type != IbvMwType.IBV_MW_TYPE_1 || by.type == IbvQpType.IBV_QPT_UD
                || by.type == IbvQpType.IBV_QPT_RAW_PACKET || by.state < IbvQpState.IBV_QPS_RTS
                || region == null && length != 0) {
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
