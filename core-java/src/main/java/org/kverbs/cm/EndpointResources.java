package org.kverbs.cm;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.CompletionChannel;
import org.kverbs.CompletionQueue;
import org.kverbs.CompletionQueueAttributes;
import org.kverbs.Context;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.SharedReceiveQueue;
import org.kverbs.attributes.QueuePairType;

/**
 * The queue pair of an endpoint, with its domain and those of its completion queues that the program did not give: what
 * {@code rdma_create_qp} makes on an id.
 */
final class EndpointResources implements AutoCloseable {

    private final ProtectionDomain domain;
    private final QueuePair queuePair;
    /** What to close, the queue pair first. */
    private final List<AutoCloseable> owned = new ArrayList<>();

    /** Makes the queue pair on the device that the id is bound to, in INIT. If that fails, nothing stays open. */
    EndpointResources(SynchronousConnectionId connection, EndpointOptions options) {
        try {
            domain = domain(connection.id(), options);
            CompletionQueue sendCq = options.sendCq();
            CompletionQueue receiveCq = options.receiveCq();
            queuePair = domain.queuePair(new QueuePairInitAttributes(
                    QueuePairType.RC,
                    sendCq == null ? completionQueue(options.capabilities().maxSendWr()) : sendCq,
                    receiveCq == null ? completionQueue(receives(options)) : receiveCq,
                    options.srq(),
                    options.capabilities(),
                    false));
            owned.addFirst(queuePair);
            connection.toInit(queuePair);
        } catch (Throwable e) {
            Closing.after(e, owned);
            throw e;
        }
    }

    private ProtectionDomain domain(ConnectionId id, EndpointOptions options) {
        ProtectionDomain given = options.protectionDomain();
        if (given != null) {
            return given;
        }
        Context context = id.device().open();
        owned.addFirst(context);
        return context.protectionDomain();
    }

    private static int receives(EndpointOptions options) {
        SharedReceiveQueue srq = options.srq();
        return srq == null ? options.capabilities().maxRecvWr() : srq.attributes().maxWr();
    }

    private CompletionQueue completionQueue(int entries) {
        CompletionChannel channel = domain.context().completionChannel();
        owned.addFirst(channel);
        CompletionQueue made =
                domain.context().completionQueue(CompletionQueueAttributes.of(Math.max(1, entries), channel));
        owned.addFirst(made);
        return made;
    }

    ProtectionDomain domain() {
        return domain;
    }

    QueuePair queuePair() {
        return queuePair;
    }

    @Override
    public void close() {
        Closing.all(owned);
    }
}
