package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.watch.Posted;
import org.kverbs.internal.abi.IbvEventType;

/**
 * What makes a shared receive queue one of XRC: a number by which requests name it, a completion queue, and a domain.
 * For the request that names it, it stands in place of the queue pair, which has no protection domain (IBA volume 1,
 * 10.2.9).
 */
public final class XrcSrq implements KeyUser, CompletionUser {

    /** The protection domain of a destroyed queue, which no memory belongs to. */
    private static final Pd NOBODY = new Pd(0);

    private final DeviceState device;
    public final Srq srq;
    public final int number;
    public final OpenXrcDomain opened;
    public final Cq cq;
    private boolean destroyed;
    private boolean broken;

    public XrcSrq(DeviceState device, Srq srq, int number, OpenXrcDomain opened, Cq cq) {
        this.device = device;
        this.srq = srq;
        this.number = number;
        this.opened = opened;
        this.cq = cq;
    }

    /** Tells whether the completion queue overran, so that no message can complete any more. */
    public boolean isBroken() {
        return broken;
    }

    /** Notes that the queue is destroyed: answers under way may not touch memory of its domain any more. */
    public void destroy() {
        destroyed = true;
    }

    /** Completes a receive of this queue, unless the queue was destroyed after a message took the receive. */
    public void complete(long id, int status, int opcode, int bytes, int word, int qpn, int sourceQp, int flags,
            boolean solicited, @Nullable Posted request) {
        if (!destroyed) {
            cq.add(id, status, opcode, bytes, word, qpn, sourceQp, flags, solicited, srq.queue.occupied, request);
        } else if (request != null) {
            request.release();
        }
    }

    @Override
    public Pd pd() {
        return destroyed ? NOBODY : srq.pd;
    }

    @Override
    public Keys keys() {
        return device.keys;
    }

    @Override
    public void touchesFile() {
        device.engine.touchesFile();
    }

    @Override
    public void pagesMissed(long pages) {
        device.counters.count(Counter.PAGE_FAULTS, pages);
    }

    @Override
    public void memoryFreed(long address, long bytes, int need) {
        device.tellFreed(address, bytes, need, 0);
    }

    @Override
    public void completionsLost() {
        if (!broken) {
            broken = true;
            srq.raise(IbvEventType.IBV_EVENT_SRQ_ERR);
        }
    }
}
