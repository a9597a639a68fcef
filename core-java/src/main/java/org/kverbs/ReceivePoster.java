package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import org.kverbs.internal.Guard;
import org.kverbs.internal.SystemErrors;
import org.kverbs.spi.ReceiveOps;

/** The receive side of a queue pair or of a shared receive queue: one thread at a time, none after the close. */
final class ReceivePoster {

    private final Resource owner;
    private final String operation;
    private final ReceiveOps ops;
    private final Guard guard = new Guard();
    private final MemorySegment refused = Arena.ofAuto().allocate(JAVA_LONG);
    private final ReceiveRequests single = new ReceiveRequests();

    ReceivePoster(Resource owner, String operation, ReceiveOps ops) {
        this.owner = owner;
        this.operation = operation;
        this.ops = ops;
    }

    void post(long workRequestId, MemorySlice buffer) {
        int result;
        enter();
        try {
            single.clear();
            single.receive(workRequestId).into(buffer);
            result = ops.postReceive(single.requests.first(), refused.address());
        } finally {
            guard.exit();
        }
        if (result < 0) {
            throw SystemErrors.workRequest(call(), -result, 0, 1);
        }
    }

    void post(ReceiveRequests list) {
        if (list.size() == 0) {
            return;
        }
        int result;
        int index = 0;
        enter();
        try {
            result = ops.postReceive(list.requests.first(), refused.address());
            if (result < 0) {
                index = list.requests.indexOf(refused.get(JAVA_LONG, 0));
            }
        } finally {
            guard.exit();
        }
        Reference.reachabilityFence(list);
        if (result < 0) {
            throw SystemErrors.workRequest(call(), -result, index, list.size());
        }
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
