package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import org.kverbs.internal.Guard;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.RequestLimits;
import org.kverbs.internal.SingleReceive;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.ReceiveOps;

/**
 * Posts receives of a queue pair, of a shared receive queue or of a work queue. It admits one thread at a time, and
 * none after the close.
 */
final class ReceivePoster {

    private final Resource owner;
    private final String operation;
    private final ReceiveOps ops;
    private final int maxWr;
    private final int maxEntries;
    private final Guard guard = new Guard();
    private final MemorySegment refused = Arena.ofAuto().allocate(JAVA_LONG);
    private final long refusedAddress = refused.address();
    private final SingleReceive single = new SingleReceive();

    /**
     * @param maxWr how many receives the queue takes
     * @param maxEntries how many entries a receive may have
     */
    ReceivePoster(Resource owner, String operation, ReceiveOps ops, int maxWr, int maxEntries) {
        this.owner = owner;
        this.operation = operation;
        this.ops = ops;
        this.maxWr = maxWr;
        this.maxEntries = maxEntries;
    }

    void post(long workRequestId, MemorySlice buffer) {
        enter();
        try {
            int result = ops.postReceive(
                    single.write(workRequestId, buffer.address(), (int) buffer.length(), buffer.lkey()),
                    refusedAddress);
            if (result < 0) {
                throw refusal(new ReceiveRequests().receive(workRequestId).into(buffer), -result);
            }
        } finally {
            guard.exit();
        }
    }

    void post(ReceiveRequests list) {
        if (list.size() == 0) {
            return;
        }
        enter();
        try {
            postEntered(list);
        } finally {
            guard.exit();
        }
    }

    private void postEntered(ReceiveRequests list) {
        int result;
        try {
            result = ops.postReceive(list.requests.first(), refusedAddress);
        } finally {
            Reference.reachabilityFence(list);
        }
        if (result < 0) {
            throw refusal(list, -result);
        }
    }

    private WorkRequestException refusal(ReceiveRequests list, int errno) {
        int index = list.requests.indexOf(refused.get(JAVA_LONG, 0));
        refused.set(JAVA_LONG, 0, 0); // a driver that names no request would leave this one to the next refusal
        String prefix = owner instanceof QueuePair ? "max_recv_" : "max_";
        String exceeded = RequestLimits.exceededByReceive(list.requests.at(index), maxWr, maxEntries, prefix);
        if (exceeded == null) {
            return SystemErrors.workRequest(call(), errno, index, list.size());
        }
        Refusal.forget();
        // drivers answer ENOMEM also to a request that can never fit
        boolean isFull = errno == Errno.ENOMEM || errno == Errno.EAGAIN;
        return new WorkRequestException(call(), isFull ? Errno.EINVAL : errno, exceeded, index, list.size());
    }

    private void enter() {
        if (!guard.enter()) {
            throw owner.closed();
        }
    }

    private String call() {
        return operation + "(" + owner.describe() + ")";
    }

    void close() {
        guard.beginClose();
        guard.awaitDrained();
    }
}
