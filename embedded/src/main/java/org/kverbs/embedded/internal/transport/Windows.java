package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Mw;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvMwType;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/** Binds and invalidates memory windows on the send queue of a queue pair (IBA volume 1, 10.6.7 and 11.4.1.1). */
final class Windows {

    private static final int INDEX = ~0xff;
    private static final int WRITES = IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE | IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC;

    private static final int FLUSHES =
            PlacementExtensions.IBV_ACCESS_FLUSH_GLOBAL | PlacementExtensions.IBV_ACCESS_FLUSH_PERSISTENT;

    private final Qp qp;

    Windows(Qp qp) {
        this.qp = qp;
    }

    /** Carries out a local work request. Returns its status. */
    int execute(SendWqe wqe) {
        if (wqe.opcode == IbvWrOpcode.IBV_WR_BIND_MW) {
            return bind(wqe) ? IbvWcStatus.IBV_WC_SUCCESS : IbvWcStatus.IBV_WC_MW_BIND_ERR;
        }
        return invalidate(wqe.immediate) ? IbvWcStatus.IBV_WC_SUCCESS : IbvWcStatus.IBV_WC_LOC_QP_OP_ERR;
    }

    private boolean bind(SendWqe wqe) {
        Mw window = wqe.window;
        Mr region = wqe.region;
        if (window == null || !isThere(window) || !window.pd.protects(qp.pd)
                || !(wqe.bindLength == 0 || mayBind(region, wqe))) {
            return false;
        }
        boolean type2 = window.type == IbvMwType.IBV_MW_TYPE_2;
        // A type 2 window must be invalidated before it is bound again, and keeps its index.
        if ((wqe.rkey & INDEX) != (window.key & INDEX) || type2 && (window.mr != null || wqe.rkey == window.key)) {
            return false;
        }
        window.key = wqe.rkey;
        if (type2) { // a type 1 window has its key since the post of the bind
            Memory.putInt(window.structure + IbvMw.RKEY, wqe.rkey);
        }
        window.bind(region, wqe.bindAddress, wqe.bindLength, wqe.bindAccess, qp);
        return true;
    }

    /** Tells whether the memory is still registered; it may have been closed while the request waited. */
    private boolean isThere(MemoryKey memory) {
        return qp.hca.keys.find(memory.key) == memory;
    }

    private boolean mayBind(@Nullable Mr region, SendWqe wqe) {
        int need = IbvAccessFlags.IBV_ACCESS_MW_BIND;
        if ((wqe.bindAccess & WRITES) != 0) {
            // a program that may not write to the region can't let peers write to it
            need |= IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE;
        }
        // a window permits no flush that its region does not permit
        need |= wqe.bindAccess & FLUSHES;
        return region != null
                && isThere(region)
                && region.pd.protects(qp.pd)
                && (region.access & need) == need
                && MemoryKey.offset(wqe.bindAddress, wqe.bindLength, region.iova, region.length) >= 0;
    }

    /** Ends the key of a type 2 window that this queue pair bound. Returns false if there is no such window. */
    boolean invalidate(int rkey) {
        if (!(qp.hca.keys.find(rkey) instanceof Mw window)
                || window.type != IbvMwType.IBV_MW_TYPE_2
                || window.boundBy != qp) {
            return false;
        }
        window.unbind();
        return true;
    }
}
