package org.kverbs;

import static org.kverbs.internal.abi.Errno.EINVAL;
import static org.kverbs.internal.abi.Errno.ENOMEM;
import static org.kverbs.internal.abi.Errno.ENOSYS;
import static org.kverbs.internal.abi.Errno.EOPNOTSUPP;
import static org.kverbs.internal.abi.Errno.EPROTONOSUPPORT;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.TransportType;
import org.kverbs.internal.ErrorAdvice;
import org.kverbs.internal.QueuePairTransitions;
import org.kverbs.internal.Refusal;

/** Makes exceptions that say what to do from an errno of the C libraries or the kernel. */
final class SystemErrors {
    private SystemErrors() {}

    /**
     * Makes the exception for a call that failed.
     *
     * @param operation the C function, with the relevant arguments in parentheses: {@code ibv_reg_mr(length=65536)}
     * @param errno the error number, positive or negated
     */
    static RdmaSystemException of(String operation, int errno) {
        int positive = Math.abs(errno);
        return new RdmaSystemException(operation, positive, ErrorAdvice.on(operation, positive));
    }

    /**
     * Makes the exception for a creation that the device refused.
     *
     * @param operation as for {@link #of}
     * @param errno the error number, positive or negated
     * @param excess returns sentences that name the sizes above the device's limits, or an empty text. It is called
     *     only if the device gave no reason of its own, and it can query the device
     */
    static RdmaSystemException refused(String operation, int errno, Supplier<String> excess) {
        int positive = Math.abs(errno);
        String reason = Refusal.take(positive);
        if (reason != null) {
            return new RdmaSystemException(operation, positive, reason);
        }
        String exceeded = positive == EINVAL || positive == ENOMEM ? excess.get() : "";
        Refusal.take(positive); // drops the reason of a query by excess
        if (exceeded.isEmpty()) {
            return of(operation, positive);
        }
        String others = positive == ENOMEM ? " " + ErrorAdvice.ofCall(operation, positive) : "";
        return new RdmaSystemException(operation, positive, exceeded + others);
    }

    /**
     * Makes the exception for a refused work request. It has the device's own reason if the device gave one.
     *
     * @param operation as for {@link #of}: ibv_post_send, ibv_post_recv, ibv_post_srq_recv or ibv_bind_mw
     * @param errno the error number, positive or negated; siw returns a negative one
     * @param index the position of the refused request, from 0
     * @param count how many requests the list had
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
     * Makes the exception for ibv_modify_qp. It explains EINVAL by the transition and its attributes, or by the
     * transport.
     *
     * @param queuePairNumber the number of the queue pair
     * @param transport the transport of the device; on iWARP two queue pairs cannot be connected by addresses
     * @param type the type of the queue pair
     * @param from the state of the queue pair; UNKNOWN is enough for errors other than EINVAL
     * @param to the state asked for; equal to {@code from} if the mask has no IBV_QP_STATE
     * @param mask the attributes that were set, of {@code enum ibv_qp_attr_mask}
     * @param errno the error number, positive or negated
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
            // The device gave its own reason.
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
     * Returns whether a call is missing. ENOSYS is the answer of an older library, EOPNOTSUPP that of a driver, and
     * EPROTONOSUPPORT that of a kernel that is older than the call.
     *
     * @param errno the error number, positive
     */
    static boolean isMissing(int errno) {
        return errno == EOPNOTSUPP || errno == ENOSYS || errno == EPROTONOSUPPORT;
    }

    /**
     * Makes the exception for a call that not every device has.
     *
     * @param device the name of the device
     * @param operation as for {@link #of}
     * @param errno the error number, positive or negated
     * @param needs whole sentences that say which devices and which release of rdma-core have the verb
     */
    static RdmaSystemException optional(String device, String operation, int errno, String needs) {
        int positive = Math.abs(errno);
        if (!isMissing(positive)) {
            return refused(operation, positive, () -> "");
        }
        Refusal.forget();
        return new UnsupportedVerbException(device, operation, positive, needs);
    }

    /**
     * Checks a result of the provider SPI and returns it.
     *
     * @param operation as for {@link #of}
     * @param result a count, a descriptor, 0, or {@code -errno}
     * @throws RdmaSystemException if the result is negative
     */
    static int check(String operation, int result) {
        if (result < 0) {
            throw of(operation, result);
        }
        return result;
    }
}
