package org.kverbs;

import static org.kverbs.internal.abi.Errno.EINVAL;
import static org.kverbs.internal.abi.Errno.ENOMEM;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.TransportType;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.QueuePairTransitions;
import org.kverbs.internal.Refusal;

/** Turns an errno of the C libraries or the kernel into an exception that says what to do. */
final class SystemErrors {
    private SystemErrors() {}

    /**
     * The exception for a call that failed.
     *
     * @param operation the C function, with the arguments that matter in parentheses: {@code ibv_reg_mr(length=65536)}
     * @param errno its error number, as it is or negated
     */
    static RdmaSystemException of(String operation, int errno) {
        int positive = Math.abs(errno);
        return new RdmaSystemException(operation, positive, ErrorAdvice.on(operation, positive));
    }

    /**
     * The exception for a creation that the device refused.
     *
     * @param operation as for {@link #of}
     * @param errno its error number, as it is or negated
     * @param excess gives sentences that name what was asked for beyond the device's limits; empty if nothing was. It
     *     is asked only where the device itself gives no reason, and may ask the device
     */
    static RdmaSystemException refused(String operation, int errno, Supplier<String> excess) {
        int positive = Math.abs(errno);
        String reason = Refusal.take(positive);
        if (reason != null) {
            return new RdmaSystemException(operation, positive, reason);
        }
        String exceeded = positive == EINVAL || positive == ENOMEM ? excess.get() : "";
        Refusal.take(positive); // that of a question by excess
        if (exceeded.isEmpty()) {
            return of(operation, positive);
        }
        String others = positive == ENOMEM ? " " + ErrorAdvice.ofCall(operation, positive) : "";
        return new RdmaSystemException(operation, positive, exceeded + others);
    }

    /**
     * The exception for a list of work requests of which one was refused; says what the device itself says if it can.
     *
     * @param operation as for {@link #of}: ibv_post_send, ibv_post_recv, ibv_post_srq_recv or ibv_bind_mw
     * @param errno the error number, as it is or negated: siw gives a negative one
     * @param index the position of the refused request, from 0
     * @param count how many there were
     */
    static WorkRequestException workRequest(String operation, int errno, int index, int count) {
        int positive = Math.abs(errno);
        String reason = Refusal.take(positive);
        String advice = reason == null ? ErrorAdvice.ofPost(operation, positive) : reason;
        return new WorkRequestException(operation, positive, advice, index, count);
    }

    private static final Set<QueuePairState> CONNECTING =
            EnumSet.of(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS);

    /**
     * The exception for ibv_modify_qp; EINVAL is explained by the transition and its attributes, or by the transport.
     *
     * @param queuePairNumber the queue pair
     * @param transport its device's; iWARP has no addresses that two queue pairs could be connected by
     * @param type its type
     * @param from the state it is in; UNKNOWN will do for other errors than EINVAL
     * @param to the state asked for, the same as {@code from} if the mask has no IBV_QP_STATE
     * @param mask the attributes set, of {@code enum ibv_qp_attr_mask}
     * @param errno the error number, as it is or negated
     */
    static RdmaSystemException modifyQueuePair(
            int queuePairNumber,
            TransportType transport,
            QueuePairType type,
            QueuePairState from,
            QueuePairState to,
            int mask,
            int errno) {
        int positive = Math.abs(errno);
        String advice = Refusal.take(positive);
        if (advice != null) {
            // The device has said it.
        } else if (positive != EINVAL) {
            advice = ErrorAdvice.ofCall("ibv_modify_qp", positive);
        } else if (transport == TransportType.IWARP && CONNECTING.contains(to)) {
            advice = "iWARP devices are connected by the connection manager only, which goes by IP addresses: take "
                    + "rdmaServer and rdmaClient, or RdmaHost, of kverbs-coroutines, or ConnectionId.";
        } else {
            advice = QueuePairTransitions.explain(type, from, to, mask);
        }
        String change = from == QueuePairState.UNKNOWN ? "to " + to : from + " -> " + to;
        return new RdmaSystemException("ibv_modify_qp(" + type + " queue pair " + queuePairNumber + ", " + change
                + ")", positive, advice);
    }

    /**
     * Gives a result that is not below zero, as the provider SPI returns them.
     *
     * @param operation as for {@link #of}
     * @param result a count, a descriptor, 0, or {@code -errno}
     * @throws RdmaSystemException if the result is below zero
     */
    static int check(String operation, int result) {
        if (result < 0) {
            throw of(operation, result);
        }
        return result;
    }
}
